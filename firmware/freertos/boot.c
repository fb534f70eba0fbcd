/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From reset to the first task of the application. The kernel creates an idle task and a timer task;
 * the latter has the highest priority, and runs before it until it waits. */
#include "bench.h"

/* What startup code has to bring about before anything runs. */
static volatile uint32_t ulInitialised = 0x600DDA7Au;
static volatile uint32_t ulCleared;

static void vFirstTask( void * pvParameters );

RTMARK_BEGIN_AT_RESET( "boot.first_task" );
RTMARK_END_AT_ENTRY( "boot.first_task", vFirstTask );

static void __attribute__( ( noinline ) ) vFirstTask( void * pvParameters )
{
    ( void ) pvParameters;
    rtmark_run_selected_scenario();
    rtmark_failed( "the scenario returned" );
}

int main( void )
{
    vBenchDefineHeap();
    xBenchCreateTask( vFirstTask, "first", benchLOW_PRIORITY );
    vTaskStartScheduler();

    rtmark_failed( "the scheduler did not start" );
}

static void prvFirstTask( void )
{
    rtmark_expect( "initialised variable", ulInitialised, 0x600DDA7Au );
    rtmark_expect( "cleared variable", ulCleared, 0u );
    vTaskDelay( 2 );
    rtmark_expect( "ticks", xTaskGetTickCount(), 2u );
    rtmark_ok();
}
RTMARK_SCENARIO( "boot.first_task", prvFirstTask );
