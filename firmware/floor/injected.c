/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Where a Cortex-R5's vector leads until a scenario has a handler of its own: what `rtmark worst` injects
 * returns at once. startup_r5.c knows the handler by the name that FreeRTOS has for it.
 */
#include "interrupts.h"

void FreeRTOS_IRQ_Handler(void);

HANDLER void FreeRTOS_IRQ_Handler(void)
{
    HANDLER_BEGINS;
    HANDLER_ENDS;
}
