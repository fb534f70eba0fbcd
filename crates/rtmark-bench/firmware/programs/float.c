/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A control loop in single precision: a biquad filter, a controller with limits,
 * and a small plant that it controls.
 */
#include "rtmark_firmware.h"

#define STEPS 1000000u

struct biquad {
    float b0, b1, b2, a1, a2;
    float z1, z2;
};

static float filter(struct biquad *f, float x)
{
    const float y = f->b0 * x + f->z1;
    f->z1 = f->b1 * x - f->a1 * y + f->z2;
    f->z2 = f->b2 * x - f->a2 * y;
    return y;
}

static float limited(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

static void control(void)
{
    struct biquad smooth = {0.0675f, 0.1349f, 0.0675f, -1.143f, 0.4128f, 0.0f, 0.0f};
    float position = 0.0f, speed = 0.0f, sum = 0.0f, last = 0.0f, worst = 0.0f;
    for (uint32_t step = 0; step < STEPS; step++) {
        const float wanted = step / 512u % 2u ? 1.0f : -1.0f;
        const float error = wanted - filter(&smooth, position);
        sum = limited(sum + error * 0.001f, -0.5f, 0.5f);
        const float drive = limited(4.0f * error + sum + 60.0f * (error - last), -2.0f, 2.0f);
        last = error;
        speed += (drive - 0.3f * speed) * 0.01f;
        position += speed * 0.01f;
        worst = error * error > worst ? error * error : worst;
    }
    rtmark_fact("position_x1000", (uint32_t)(int32_t)(position * 1000.0f));
    rtmark_fact("worst_x1000", (uint32_t)(worst * 1000.0f));
    rtmark_ok();
}
RTMARK_SCENARIO("float.control", control);
