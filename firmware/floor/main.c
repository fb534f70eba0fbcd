/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rtmark_firmware.h"

/* Images that measure the start itself have their own. */
int __attribute__((weak)) main(void)
{
    rtmark_run_selected_scenario();
    rtmark_failed("the scenario returned");
}
