/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bench.h"

#ifdef HEAP_REGIONS

/* What heap_5 is for: memory in several places. Here it is the same memory in two halves. */
    static uint8_t ucHeap[ configTOTAL_HEAP_SIZE ] __attribute__( ( aligned( 8 ) ) );

    void vBenchDefineHeap( void )
    {
        static const HeapRegion_t xRegions[] =
        {
            { ucHeap, configTOTAL_HEAP_SIZE / 2 },
            { &ucHeap[ configTOTAL_HEAP_SIZE / 2 ], configTOTAL_HEAP_SIZE / 2 },
            { NULL, 0 }
        };

        vPortDefineHeapRegions( xRegions );
    }
#else
    void vBenchDefineHeap( void )
    {
    }
#endif /* HEAP_REGIONS */
/*-----------------------------------------------------------*/

#if configUSE_TICKLESS_IDLE
    const unsigned long ulBenchClock __attribute__( ( weak ) ) = RTMARK_CLOCK_HZ;
#endif
/*-----------------------------------------------------------*/

/*
 * The selected scenario creates its tasks and objects; then the scheduler runs
 * until one of the tasks ends the run. Images that measure the start itself have
 * a main() of their own.
 */
int __attribute__( ( weak ) ) main( void )
{
    vBenchDefineHeap();
    rtmark_run_selected_scenario();
    vTaskStartScheduler();

    rtmark_failed( "the scheduler did not start" );
}
/*-----------------------------------------------------------*/

TaskHandle_t xBenchCreateTask( TaskFunction_t pxTaskCode,
                               const char * pcName,
                               UBaseType_t uxPriority )
{
    TaskHandle_t xTask = NULL;

    if( xTaskCreate( pxTaskCode, pcName, configMINIMAL_STACK_SIZE, NULL, uxPriority, &xTask ) != pdPASS )
    {
        rtmark_failed( "no heap left for a task" );
    }

    return xTask;
}
/*-----------------------------------------------------------*/

void vAssertCalled( void )
{
    rtmark_failed_at( "configASSERT", ( uint32_t ) ( uintptr_t ) __builtin_return_address( 0 ) );
}
/*-----------------------------------------------------------*/

void vApplicationStackOverflowHook( TaskHandle_t xTask,
                                    char * pcTaskName )
{
    ( void ) xTask;
    ( void ) pcTaskName;
    rtmark_failed( "a task's stack overflowed" );
}
