/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a delay really takes, and what a tick costs. */
#include "bench.h"

/*-----------------------------------------------------------*/
/* timer.delay.1000ms */

#define timerDELAYS    4u

static void vDelayTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < timerDELAYS; ulSample++ )
    {
        const TickType_t xBefore = xTaskGetTickCount();

        RTMARK_BEGIN( "timer.delay.1000ms" );
        vTaskDelay( pdMS_TO_TICKS( 1000 ) );
        RTMARK_END( "timer.delay.1000ms" );

        rtmark_expect( "ticks passed", xTaskGetTickCount() - xBefore, configTICK_RATE_HZ );
    }

    rtmark_ok();
}

static void prvDelay( void )
{
    xBenchCreateTask( vDelayTask, "delay", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "timer.delay.1000ms", prvDelay );

/*-----------------------------------------------------------*/
/* timer.tick: the tick finds nothing to do, and returns to the task that spins. */

RTMARK_BEGIN_AT_PEND( "timer.tick", 15 );
RTMARK_END_AT_RETURN( "timer.tick", 15 );

static void vSpinTask( void * pvParameters )
{
    ( void ) pvParameters;

    while( xTaskGetTickCount() < RTMARK_SAMPLES )
    {
    }

    rtmark_ok();
}

static void prvTick( void )
{
    xBenchCreateTask( vSpinTask, "spin", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "timer.tick", prvTick );
