#ifndef RING_H
#define RING_H

#define RING_SIZE 4

struct ring {
    int items[RING_SIZE];
    int start;
    int count;
};

void ring_init(struct ring *ring);
int ring_push(struct ring *ring, int item);
int ring_pop(struct ring *ring, int *item);

#endif
