/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The functions that a compiler may call by itself, for one that comes without a C library.
 * Words at a time where both ends allow it; no better than that, and no worse.
 */
#include <stdint.h>
#include <string.h>

/* Or else the loops become calls of what they are. */
#pragma GCC optimize("no-tree-loop-distribute-patterns")

typedef uintptr_t __attribute__((may_alias)) word;

static int both_aligned(const void *one, const void *other)
{
    return (((uintptr_t)one | (uintptr_t)other) & (sizeof(word) - 1u)) == 0u;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    unsigned char *out = to;
    const unsigned char *in = from;

    if (both_aligned(to, from)) {
        for (; size >= sizeof(word); size -= sizeof(word)) {
            *(word *)(void *)out = *(const word *)(const void *)in;
            out += sizeof(word);
            in += sizeof(word);
        }
    }
    while (size-- != 0u) {
        *out++ = *in++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    unsigned char *out = to;
    const unsigned char *in = from;

    if (out <= in || out >= in + size) {
        return memcpy(to, from, size);
    }
    while (size-- != 0u) {
        out[size] = in[size];
    }
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    unsigned char *out = to;
    const word pattern = (word)-1 / 0xFFu * (unsigned char)byte;

    if (both_aligned(to, to)) {
        for (; size >= sizeof(word); size -= sizeof(word)) {
            *(word *)(void *)out = pattern;
            out += sizeof(word);
        }
    }
    while (size-- != 0u) {
        *out++ = (unsigned char)byte;
    }
    return to;
}

int memcmp(const void *one, const void *other, size_t size)
{
    const unsigned char *a = one;
    const unsigned char *b = other;

    for (; size != 0u; size--, a++, b++) {
        if (*a != *b) {
            return *a - *b;
        }
    }
    return 0;
}

size_t strlen(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0') {
        length++;
    }
    return length;
}
