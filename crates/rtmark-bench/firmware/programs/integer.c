/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What integer code of controllers is made of: a sorted linked list, a small
 * matrix product, a state machine that reads text, and a checksum over it all.
 */
#include "rtmark_firmware.h"

#define ROUNDS 8000u

#define NODES 48u
#define SIDE 9u

struct node {
    struct node *next;
    int16_t key;
    int16_t value;
};

static struct node nodes[NODES];
static int16_t left[SIDE][SIDE];
static int16_t right[SIDE][SIDE];
static int32_t product[SIDE][SIDE];

/* CRC-16 with the polynomial of CCITT, bit by bit. */
static uint16_t checksum(uint16_t crc, uint16_t word)
{
    crc ^= word;
    for (unsigned bit = 0; bit < 16; bit++) {
        crc = (uint16_t)(crc & 1u ? crc >> 1 ^ 0x8408u : crc >> 1);
    }
    return crc;
}

static struct node *sorted(struct node *list)
{
    struct node *done = 0;
    while (list) {
        struct node *taken = list;
        struct node **place = &done;
        list = list->next;
        while (*place && (*place)->key < taken->key) {
            place = &(*place)->next;
        }
        taken->next = *place;
        *place = taken;
    }
    return done;
}

static uint16_t sort_a_list(uint16_t crc, uint32_t seed)
{
    struct node *list = 0;
    for (unsigned i = 0; i < NODES; i++) {
        seed = seed * 1664525u + 1013904223u;
        nodes[i] = (struct node){list, (int16_t)(seed >> 16), (int16_t)i};
        list = &nodes[i];
    }
    int16_t last = INT16_MIN;
    for (struct node *at = sorted(list); at; at = at->next) {
        rtmark_expect("order of the list", last <= at->key, 1);
        last = at->key;
        crc = checksum(crc, (uint16_t)at->value);
    }
    return crc;
}

static uint16_t multiply_matrices(uint16_t crc, uint32_t seed)
{
    for (unsigned row = 0; row < SIDE; row++) {
        for (unsigned column = 0; column < SIDE; column++) {
            left[row][column] = (int16_t)(seed + row * column);
            right[row][column] = (int16_t)(seed ^ (row + 3u * column));
        }
    }
    for (unsigned row = 0; row < SIDE; row++) {
        for (unsigned column = 0; column < SIDE; column++) {
            int32_t sum = 0;
            for (unsigned k = 0; k < SIDE; k++) {
                sum += left[row][k] * right[k][column];
            }
            product[row][column] = sum;
        }
    }
    for (unsigned row = 0; row < SIDE; row++) {
        crc = checksum(crc, (uint16_t)product[row][SIDE - 1 - row]);
    }
    return crc;
}

enum state { START, SIGN, WHOLE, POINT, FRACTION, EXPONENT, WRONG };

static enum state after(enum state state, char c)
{
    const int digit = c >= '0' && c <= '9';
    switch (state) {
    case START:
        return c == '+' || c == '-' ? SIGN : digit ? WHOLE : c == '.' ? POINT : WRONG;
    case SIGN:
        return digit ? WHOLE : c == '.' ? POINT : WRONG;
    case WHOLE:
        return digit ? WHOLE : c == '.' ? FRACTION : c == 'e' ? EXPONENT : WRONG;
    case POINT:
    case FRACTION:
        return digit ? FRACTION : c == 'e' && state == FRACTION ? EXPONENT : WRONG;
    case EXPONENT:
        return digit || c == '-' ? EXPONENT : WRONG;
    default:
        return WRONG;
    }
}

static uint16_t read_numbers(uint16_t crc)
{
    static const char text[] = "12,-3.5,+.75,6e-3,x7,1..2,99999,-0.001e9,3.,e5,";
    enum state state = START;
    for (const char *c = text; *c; c++) {
        if (*c == ',') {
            crc = checksum(crc, state);
            state = START;
        } else {
            state = after(state, *c);
        }
    }
    return crc;
}

static void integer(void)
{
    uint16_t crc = 0xFFFF;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        crc = sort_a_list(crc, round);
        crc = multiply_matrices(crc, round);
        crc = read_numbers(crc);
    }
    rtmark_fact("checksum", crc);
    rtmark_ok();
}
RTMARK_SCENARIO("integer.mixed", integer);
