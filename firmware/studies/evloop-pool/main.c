/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bench.h"
#include "cortex_m.h"
#include "rtmark_firmware.h"
#include "rtmark_soc.h"

#define TICK_HZ 1000u

struct pool_loop loop;

void SysTick_Handler(void)
{
    loop.now++;
}

/* What this loop was compiled with. */
static void __attribute__((used)) settings(void)
{
    RTMARK_SETTING("tick_hz", TICK_HZ);
    RTMARK_SETTING("tick_bits", 32);
}

/* The selected scenario enqueues its first closures; then rounds go on until one of them ends the
 * run. */
int main(void)
{
    pool_loop_init(&loop);
    SYST_RVR = RTMARK_CLOCK_HZ / TICK_HZ - 1u;
    SYST_CVR = 0;
    SYST_CSR = SYST_CSR_CLKSOURCE_CORE | SYST_CSR_TICKINT | SYST_CSR_ENABLE;
    rtmark_run_selected_scenario();
    for (;;) {
        pool_loop_round(&loop);
    }
}
