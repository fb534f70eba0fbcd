/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Switching between tasks: between equals by yielding, and upwards by resuming. */
#include "bench.h"

static volatile uint32_t ulSwitches;
static TickType_t xStartTick;
static TaskHandle_t xHighTask;

/*-----------------------------------------------------------*/
/* thread.yield: two tasks of the same priority yield to each other. Each yield is
 * a sample: it begins in one task and ends in the other. */

static void prvFinishYielding( void )
{
    /* With time slicing a tick hands over as well, and then two tasks would return
     * from a yield of which only one switched. All samples lie within one tick. */
    if( xTaskGetTickCount() != xStartTick )
    {
        rtmark_failed( "a tick came between the samples: this soc's clock is too slow for them" );
    }

    rtmark_ok();
}

static void vSecondYieldTask( void * pvParameters )
{
    ( void ) pvParameters;

    ulSwitches++;

    for( ; ; )
    {
        if( ulSwitches == RTMARK_SAMPLES )
        {
            prvFinishYielding();
        }

        /* This task is the one that is reached by odd switches. */
        rtmark_expect( "turn", ulSwitches % 2u, 1u );

        RTMARK_BEGIN( "thread.yield" );
        taskYIELD();
        RTMARK_END( "thread.yield" );
        ulSwitches++;
    }
}

/* The first switch to this task does not return from a yield: it starts the task. */
RTMARK_END_AT_ENTRY( "thread.yield", vSecondYieldTask );

static void vFirstYieldTask( void * pvParameters )
{
    ( void ) pvParameters;

    /* To start right after a tick. */
    vTaskDelay( 1 );
    xStartTick = xTaskGetTickCount();
    xBenchCreateTask( vSecondYieldTask, "second", benchLOW_PRIORITY );

    for( ; ; )
    {
        if( ulSwitches == RTMARK_SAMPLES )
        {
            prvFinishYielding();
        }

        rtmark_expect( "turn", ulSwitches % 2u, 0u );

        RTMARK_BEGIN( "thread.yield" );
        taskYIELD();
        RTMARK_END( "thread.yield" );
        ulSwitches++;
    }
}

static void prvYield( void )
{
    xBenchCreateTask( vFirstYieldTask, "first", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "thread.yield", prvYield );

/*-----------------------------------------------------------*/
/* thread.resume.preempt: a task resumes a suspended one of higher priority, which
 * runs at once. */

static void vSuspendedTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        vTaskSuspend( NULL );
        RTMARK_END( "thread.resume.preempt" );
        ulSwitches++;
    }
}

static void vResumingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "thread.resume.preempt" );
        vTaskResume( xHighTask );

        rtmark_expect( "times the task was resumed", ulSwitches, ulSample );
    }

    rtmark_ok();
}

static void prvResume( void )
{
    xHighTask = xBenchCreateTask( vSuspendedTask, "high", benchHIGH_PRIORITY );
    xBenchCreateTask( vResumingTask, "low", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "thread.resume.preempt", prvResume );
