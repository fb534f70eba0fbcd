/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From reset to the first task: there is no kernel, so main() is that. */
#include "rtmark_firmware.h"

/* What startup code has to bring about before anything runs. */
static volatile uint32_t initialised = 0x600DDA7Au;
static volatile uint32_t cleared;

int main(void);

RTMARK_BEGIN_AT_RESET("boot.first_task");
RTMARK_END_AT_ENTRY("boot.first_task", main);

int main(void)
{
    rtmark_run_selected_scenario();
    rtmark_failed("the scenario returned");
}

static void first_task(void)
{
    rtmark_expect("initialised variable", initialised, 0x600DDA7Au);
    rtmark_expect("cleared variable", cleared, 0u);
    rtmark_ok();
}
RTMARK_SCENARIO("boot.first_task", first_task);
