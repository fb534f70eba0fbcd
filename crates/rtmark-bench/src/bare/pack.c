/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Packs text by referring to what has come before, and unpacks it again. */
#include "bare.h"

#define SIZE 4096u
#define HASHES 512u

static uint8_t text[SIZE], packed[2 * SIZE], unpacked[SIZE];
static uint16_t seen[HASHES];

static void write_text(uint32_t seed)
{
    static const char *const words[] = {"task ", "queue ", "tick ", "the ", "waits ", "for ",
                                        "stack ", "a ", "mutex ", "owner\n", "priority ", "runs "};
    for (unsigned at = 0; at < SIZE;) {
        seed = seed * 1664525u + 1013904223u;
        for (const char *c = words[(seed >> 16) % 12]; *c && at < SIZE; c++) {
            text[at++] = (uint8_t)*c;
        }
    }
}

static unsigned pack(void)
{
    unsigned out = 0, at = 0;
    memset(seen, 0, sizeof seen);
    while (at < SIZE) {
        unsigned length = 0, from = 0;
        if (at + 3 < SIZE) {
            uint32_t three = text[at] | text[at + 1] << 8 | text[at + 2] << 16;
            uint16_t *place = &seen[three * 2654435761u >> 23];
            from = *place;
            *place = (uint16_t)at;
            while (from < at && at + length < SIZE && length < 130 &&
                   text[from + length] == text[at + length]) {
                length++;
            }
        }
        if (length > 3) {
            packed[out++] = (uint8_t)(0x80 | (length - 3));
            packed[out++] = (uint8_t)(at - from);
            packed[out++] = (uint8_t)((at - from) >> 8);
            at += length;
        } else {
            packed[out++] = text[at++] & 0x7F;
        }
    }
    return out;
}

static void unpack(unsigned size)
{
    unsigned to = 0;
    for (unsigned at = 0; at < size;) {
        uint8_t code = packed[at++];
        if (code & 0x80) {
            unsigned back = packed[at] | packed[at + 1] << 8;
            at += 2;
            for (unsigned left = (code & 0x7Fu) + 3; left; left--, to++) {
                unpacked[to] = unpacked[to - back];
            }
        } else {
            unpacked[to++] = code;
        }
    }
}

void program(void)
{
    uint32_t sum = 0;
    for (unsigned round = 0; round < 150; round++) {
        write_text(round);
        unsigned size = pack();
        unpack(size);
        for (unsigned i = 0; i < SIZE; i++) {
            if (text[i] != unpacked[i]) {
                failed();
            }
        }
        sum += size;
    }
    keep(sum);
}
