#include "ring.h"

void ring_init(struct ring *ring)
{
    ring->start = 0;
    ring->count = 0;
}

/* Returns 0 when the ring is full. */
int ring_push(struct ring *ring, int item)
{
    if (ring->count == RING_SIZE) {
        return 0;
    }
    ring->items[(ring->start + ring->count) % RING_SIZE] = item;
    ring->count++;
    return 1;
}

/* Returns 0 when the ring is empty. */
int ring_pop(struct ring *ring, int *item)
{
    if (ring->count == 0) {
        return 0;
    }
    *item = ring->items[ring->start];
    ring->start = (ring->start + 1) % RING_SIZE;
    ring->count--;
    return 1;
}
