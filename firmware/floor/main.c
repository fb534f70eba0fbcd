/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "interrupts.h"
#include "rtmark_firmware.h"
#include "rtmark_soc.h"

#if __ARM_ARCH_PROFILE == 'R' && RTMARK_INTERRUPTS > 0
/* What `rtmark worst` injects, in images that have no handler of their own. */
static HANDLER void injected(void)
{
    HANDLER_BEGINS;
    HANDLER_ENDS;
}
#endif

/* Images that measure the start itself have their own. */
int __attribute__((weak)) main(void)
{
#if __ARM_ARCH_PROFILE == 'R' && RTMARK_INTERRUPTS > 0
    cortex_r5_handle_by(injected);
    cortex_r5_start_interrupts();
#endif
    rtmark_run_selected_scenario();
    rtmark_failed("the scenario returned");
}
