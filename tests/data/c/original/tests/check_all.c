#include <stdio.h>

#include "ring.h"
#include "text.h"

static int failures;

static void check(const char *name, int good)
{
    printf("%s: %s\n", good ? "PASS" : "FAIL", name);
    failures += !good;
}

static void check_ring(void)
{
    struct ring ring;
    int item = -1;
    int all = 1;
    ring_init(&ring);
    check("ring: empty [pop]", !ring_pop(&ring, &item));
    for (int i = 0; i < RING_SIZE; i++) {
        all = all && ring_push(&ring, i);
    }
    check("ring: fills", all);
    check("ring: full", !ring_push(&ring, 9));
    check("ring: first in, first out", ring_pop(&ring, &item) && item == 0);
    check("ring: wraps around", ring_push(&ring, 4) && ring_pop(&ring, &item) && item == 1);
}

static void check_text(void)
{
    check("words: none", count_words("") == 0);
    check("words: one", count_words("one") == 1);
    check("words: spaces around", count_words("  two words ") == 2);
    check("words: naïve café", count_words("naïve café") == 2);
}

int main(void)
{
    check_ring();
    check_text();
    return failures != 0;
}
