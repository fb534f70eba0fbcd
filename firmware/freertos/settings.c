/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the kernel was really compiled with, told to rtmark. It takes no room in the image.
 */
#include "FreeRTOS.h"

#include "rtmark_probe.h"

static __attribute__( ( used ) ) void prvSettings( void )
{
    RTMARK_SETTING( "asserts", configASSERT_DEFINED );
    RTMARK_SETTING( "stack_check", configCHECK_FOR_STACK_OVERFLOW );
    /* As tasks.c decides it, which tells nobody. */
    RTMARK_SETTING( "stack_fill", configCHECK_FOR_STACK_OVERFLOW > 1 || configUSE_TRACE_FACILITY ||
                    INCLUDE_uxTaskGetStackHighWaterMark );
    RTMARK_SETTING( "heap_clear", configHEAP_CLEAR_MEMORY_ON_FREE );
    RTMARK_SETTING( "mpu_guard", configENABLE_MPU );
    RTMARK_SETTING( "trace", configUSE_TRACE_FACILITY );
    RTMARK_SETTING( "time_slicing", configUSE_TIME_SLICING );
    RTMARK_SETTING( "tick_hz", configTICK_RATE_HZ );
    RTMARK_SETTING( "tick_bits", 8 * sizeof( TickType_t ) );
    RTMARK_SETTING( "tickless_idle", configUSE_TICKLESS_IDLE );
    RTMARK_SETTING( "priorities", configMAX_PRIORITIES );
    RTMARK_SETTING( "port_optimised_selection", configUSE_PORT_OPTIMISED_TASK_SELECTION );
    RTMARK_SETTING( "heap_bytes", configTOTAL_HEAP_SIZE );
    RTMARK_SETTING( "task_stack_bytes", configMINIMAL_STACK_SIZE * sizeof( StackType_t ) );
    RTMARK_SETTING( "software_timers", configUSE_TIMERS );
}
