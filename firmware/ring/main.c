/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ring.h"
#include "rtmark_firmware.h"

/* Images that measure the start itself have their own main(). The selected scenario enqueues its first closures; then the loop runs until one of them
 * ends the run. */
int __attribute__((weak)) main(void)
{
    ring_start_ticks();
    rtmark_run_selected_scenario();
    ring_run();
}
