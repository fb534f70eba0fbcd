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
/* semaphore.take.poll_empty: it is not available, and nobody waits for it. */

static void vPollTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "semaphore.take.poll_empty" );
        const BaseType_t xTaken = xSemaphoreTake( xSemaphore, 0 );
        RTMARK_END( "semaphore.take.poll_empty" );

        rtmark_expect( "result of the take", ( uint32_t ) xTaken, pdFALSE );
    }

    rtmark_ok();
}

static void prvPoll( void )
{
    prvCreateSemaphore();
    xBenchCreateTask( vPollTask, "poll", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "semaphore.take.poll_empty", prvPoll );

/*-----------------------------------------------------------*/
/* semaphore.give.wake+ctx, semaphore.take.blocking: a task of higher priority waits,
 * runs at once, and waits again. */

static void vWaitingTask( void * pvParameters )
{
    ( void ) pvParameters;

    /* The first time, nobody has given it yet. */
    xSemaphoreTake( xSemaphore, portMAX_DELAY );

    for( ; ; )
    {
        RTMARK_END( "semaphore.give.wake+ctx" );
        ulTaken++;
        RTMARK_BEGIN( "semaphore.take.blocking" );
        xSemaphoreTake( xSemaphore, portMAX_DELAY );
    }
}

static void vWakingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "semaphore.give.wake+ctx" );
        xSemaphoreGive( xSemaphore );
        RTMARK_END( "semaphore.take.blocking" );

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
RTMARK_SCENARIO( "semaphore.take.blocking", prvWake );

/*-----------------------------------------------------------*/
/* semaphore.handover: two tasks of the same priority, and a semaphore for each way. */

static SemaphoreHandle_t xAnswer;

static void vAnsweringTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        xSemaphoreTake( xSemaphore, portMAX_DELAY );
        RTMARK_END( "semaphore.handover" );
        ulTaken++;
        xSemaphoreGive( xAnswer );
    }
}

static void vAskingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "semaphore.handover" );
        xSemaphoreGive( xSemaphore );
        xSemaphoreTake( xAnswer, portMAX_DELAY );

        rtmark_expect( "times the other task took the semaphore", ulTaken, ulSample );
    }

    rtmark_ok();
}

static void prvHandOver( void )
{
    prvCreateSemaphore();
    xAnswer = xSemaphoreCreateBinary();
    xBenchCreateTask( vAnsweringTask, "answering", benchLOW_PRIORITY );
    xBenchCreateTask( vAskingTask, "asking", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "semaphore.handover", prvHandOver );
