/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A Fourier transform of a filtered signal, in single precision: by software where there is no FPU. */
#include "bare.h"

#define POINTS 256u

static float re[POINTS], im[POINTS], cosine[POINTS];

/* The cosines of a turn's parts, by turning a pointer, made one again each time. */
static void make_cosines(void)
{
    const float c = 0.99969881869620422f, s = 0.02454122852291229f;
    float x = 1.0f, y = 0.0f;
    for (unsigned i = 0; i < POINTS; i++) {
        cosine[i] = x;
        float next = x * c - y * s;
        y = x * s + y * c;
        x = next;
    }
}

static void transform(void)
{
    for (unsigned i = 1, j = 0; i < POINTS; i++) {
        unsigned bit = POINTS >> 1;
        for (; j & bit; bit >>= 1) {
            j ^= bit;
        }
        j ^= bit;
        if (i < j) {
            float held = re[i];
            re[i] = re[j];
            re[j] = held;
        }
    }
    for (unsigned size = 2; size <= POINTS; size *= 2) {
        unsigned step = POINTS / size;
        for (unsigned from = 0; from < POINTS; from += size) {
            for (unsigned i = 0; i < size / 2; i++) {
                unsigned turn = i * step, at = from + i, other = at + size / 2;
                float c = cosine[turn], s = -cosine[(turn + 3 * POINTS / 4) & (POINTS - 1)];
                float x = re[other] * c - im[other] * s, y = re[other] * s + im[other] * c;
                re[other] = re[at] - x;
                im[other] = im[at] - y;
                re[at] += x;
                im[at] += y;
            }
        }
    }
}

void program(void)
{
    float power = 0.0f;
    uint32_t noise = 1;
    make_cosines();
    for (unsigned round = 0; round < 400; round++) {
        float one = 0.0f, two = 0.0f;
        for (unsigned i = 0; i < POINTS; i++) {
            noise = noise * 1664525u + 1013904223u;
            float now = (float)(int32_t)noise * 4.6e-10f + cosine[(i * 5) & (POINTS - 1)];
            float kept = now + 1.56f * one - 0.64f * two;
            re[i] = 0.02f * kept + 0.04f * one + 0.02f * two;
            im[i] = 0.0f;
            two = one;
            one = kept;
        }
        transform();
        for (unsigned i = 0; i < POINTS / 2; i++) {
            power += re[i] * re[i] + im[i] * im[i];
        }
    }
    keep((uint32_t)power);
}
