#include "text.h"

#include <ctype.h>

int count_words(const char *text)
{
    int words = 0;
    int inside = 0;
    for (; *text; text++) {
        if (isspace((unsigned char)*text)) {
            inside = 0;
        } else if (!inside) {
            inside = 1;
            words++;
        }
    }
    return words;
}
