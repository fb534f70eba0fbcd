/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies without a loop. Between multiples of four: as many registers at once as the core's
 * instructions reach, which takes two cycles a word, and two more for each pair of instructions.
 * What is short, the compiler copies as fast or faster.
 */
#ifndef COPY_H
#define COPY_H

#include <stdint.h>

#if defined(__ARM_ARCH_6M__)
/* The low registers but those two that hold the addresses, and r7, which may be a frame pointer. */
#define COPY_MOST "{r2-r6}"
#define COPY_CLOBBERED "r2", "r3", "r4", "r5", "r6"
enum { COPY_MOST_WORDS = 5, COPY_SHORT_BYTES = 4 };
#else
#define COPY_MOST "{r2-r6, r8-r10}"
#define COPY_CLOBBERED "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10"
enum { COPY_MOST_WORDS = 8, COPY_SHORT_BYTES = 64 };
#endif

#define COPY_STEP(registers)                                                       \
    __asm__ __volatile__("ldmia %1!, " registers "\n\tstmia %0!, " registers       \
                         : "+l"(out), "+l"(in)                                     \
                         :                                                         \
                         : COPY_CLOBBERED, "memory")

#define COPY_TWICE(...) __VA_ARGS__ __VA_ARGS__
#define COPY_4_TIMES(...) COPY_TWICE(__VA_ARGS__) COPY_TWICE(__VA_ARGS__)
#define COPY_16_TIMES(...)                                                                         \
    COPY_4_TIMES(__VA_ARGS__) COPY_4_TIMES(__VA_ARGS__) COPY_4_TIMES(__VA_ARGS__)                  \
    COPY_4_TIMES(__VA_ARGS__)

/* `bytes` is a constant, a multiple of four and no more than 256. */
static inline __attribute__((always_inline)) void copy_words(void *to, const void *from,
                                                             uint32_t bytes)
{
    void *out = to;
    const void *in = from;
    uint32_t words = bytes / 4u;

    if (bytes <= COPY_SHORT_BYTES) {
        __builtin_memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4), bytes);
        return;
    }
    /* As many as 256 bytes take at most: the compiler knows which of them are left. */
    COPY_16_TIMES(
        if (words >= COPY_MOST_WORDS) {
            COPY_STEP(COPY_MOST);
            words -= COPY_MOST_WORDS;
        })
    switch (words) {
    case 1:
        COPY_STEP("{r2}");
        break;
    case 2:
        COPY_STEP("{r2-r3}");
        break;
    case 3:
        COPY_STEP("{r2-r4}");
        break;
    case 4:
        COPY_STEP("{r2-r5}");
        break;
    default:
        break;
    }
}

/* Of any alignment. `bytes` is a constant of no more than sixteen. */
static inline __attribute__((always_inline)) void copy_unaligned(void *to, const void *from,
                                                                 uint32_t bytes)
{
#if defined(__ARM_FEATURE_UNALIGNED)
    __builtin_memcpy(to, from, bytes);
#else
    volatile uint8_t *out = to;
    const volatile uint8_t *in = from;
    uint32_t byte = 0;

    COPY_16_TIMES(
        if (byte < bytes) {
            out[byte] = in[byte];
            byte++;
        })
#endif
}

#endif
