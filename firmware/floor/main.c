/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "cortex_m.h"
#include "rtmark_firmware.h"
#include "rtmark_soc.h"

/* Images that measure the start itself have their own. */
int __attribute__((weak)) main(void)
{
#if __ARM_ARCH_PROFILE == 'R' && RTMARK_INTERRUPTS > 0
    cortex_r5_start_interrupts();
#endif
    rtmark_run_selected_scenario();
    rtmark_failed("the scenario returned");
}
