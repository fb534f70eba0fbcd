/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rtmark_firmware.h"

int main(void)
{
    rtmark_run_selected_scenario();
    rtmark_failed("the scenario returned");
}
