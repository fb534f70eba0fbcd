/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A binary semaphore: free and taken, and with a task waiting for it. */
#include "bench.h"
#include "semphr.h"

static SemaphoreHandle_t xSemaphore;
static volatile uint32_t ulTaken;

static void prvCreateSemaphore( void )
{
    /* Created empty. */
    xSemaphore = xSemaphoreCreateBinary();

    if( xSemaphore == NULL )
    {
        rtmark_failed( "no heap left for the semaphore" );
    }
}

/*-----------------------------------------------------------*/
/* semaphore.give.immediate: nobody waits. */

static void vGiveTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "semaphore.give.immediate" );
        const BaseType_t xGiven = xSemaphoreGive( xSemaphore );
        RTMARK_END( "semaphore.give.immediate" );

        rtmark_expect( "result of the give", ( uint32_t ) xGiven, pdTRUE );
        rtmark_expect( "count after the give", uxSemaphoreGetCount( xSemaphore ), 1u );
        rtmark_expect( "result of the take", ( uint32_t ) xSemaphoreTake( xSemaphore, 0 ), pdTRUE );
    }

    rtmark_ok();
}

static void prvGive( void )
{
    prvCreateSemaphore();
    xBenchCreateTask( vGiveTask, "give", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "semaphore.give.immediate", prvGive );

/*-----------------------------------------------------------*/
/* semaphore.take.immediate: it is available. */

static void vTakeTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        rtmark_expect( "result of the give", ( uint32_t ) xSemaphoreGive( xSemaphore ), pdTRUE );

        RTMARK_BEGIN( "semaphore.take.immediate" );
        const BaseType_t xTaken = xSemaphoreTake( xSemaphore, portMAX_DELAY );
        RTMARK_END( "semaphore.take.immediate" );

        rtmark_expect( "result of the take", ( uint32_t ) xTaken, pdTRUE );
        rtmark_expect( "count after the take", uxSemaphoreGetCount( xSemaphore ), 0u );
    }

    rtmark_ok();
}

static void prvTake( void )
{
    prvCreateSemaphore();
    xBenchCreateTask( vTakeTask, "take", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "semaphore.take.immediate", prvTake );

/*-----------------------------------------------------------*/
/* semaphore.give.wake+ctx: a task of higher priority waits, and runs at once. */

static void vWaitingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        xSemaphoreTake( xSemaphore, portMAX_DELAY );
        RTMARK_END( "semaphore.give.wake+ctx" );
        ulTaken++;
    }
}

static void vWakingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "semaphore.give.wake+ctx" );
        xSemaphoreGive( xSemaphore );

        rtmark_expect( "times the waiting task took the semaphore", ulTaken, ulSample );
    }

    rtmark_ok();
}

static void prvWake( void )
{
    prvCreateSemaphore();
    xBenchCreateTask( vWaitingTask, "waiting", benchHIGH_PRIORITY );
    xBenchCreateTask( vWakingTask, "waking", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "semaphore.give.wake+ctx", prvWake );
