/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Task notifications, used as what FreeRTOS' book calls a light weight binary semaphore. */
#include "bench.h"

static TaskHandle_t xWaitingTask;
static TaskHandle_t xAskingTask;
static volatile uint32_t ulTimes;

/*-----------------------------------------------------------*/
/* notify.give.immediate: the task below is ready, and does not wait. */

static void vReadyTask( void * pvParameters )
{
    ( void ) pvParameters;
    rtmark_failed( "a task ran that was never to run" );
}

static void vGiveTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "notify.give.immediate" );
        const BaseType_t xGiven = xTaskNotifyGive( xWaitingTask );
        RTMARK_END( "notify.give.immediate" );

        rtmark_expect( "result of the notification", ( uint32_t ) xGiven, pdPASS );
        rtmark_expect( "notifications", ulTaskNotifyValueClear( xWaitingTask, UINT32_MAX ), 1u );
    }

    rtmark_ok();
}

static void prvGive( void )
{
    xWaitingTask = xBenchCreateTask( vReadyTask, "ready", benchLOW_PRIORITY );
    xBenchCreateTask( vGiveTask, "give", benchHIGH_PRIORITY );
}
RTMARK_SCENARIO( "notify.give.immediate", prvGive );

/*-----------------------------------------------------------*/
/* notify.take.immediate, notify.take.poll_empty */

static void vTakeTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "notify.take.poll_empty" );
        const uint32_t ulNone = ulTaskNotifyTake( pdTRUE, 0 );
        RTMARK_END( "notify.take.poll_empty" );

        rtmark_expect( "notifications before", ulNone, 0u );
        xTaskNotifyGive( xTaskGetCurrentTaskHandle() );

        RTMARK_BEGIN( "notify.take.immediate" );
        const uint32_t ulOne = ulTaskNotifyTake( pdTRUE, portMAX_DELAY );
        RTMARK_END( "notify.take.immediate" );

        rtmark_expect( "notifications", ulOne, 1u );
    }

    rtmark_ok();
}

static void prvTake( void )
{
    xBenchCreateTask( vTakeTask, "take", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "notify.take.immediate", prvTake );
RTMARK_SCENARIO( "notify.take.poll_empty", prvTake );

/*-----------------------------------------------------------*/
/* notify.give.wake+ctx, notify.take.blocking */

static void vWaitingTask( void * pvParameters )
{
    ( void ) pvParameters;

    /* The first time, nobody has notified this task yet. */
    ulTaskNotifyTake( pdTRUE, portMAX_DELAY );

    for( ; ; )
    {
        RTMARK_END( "notify.give.wake+ctx" );
        ulTimes++;
        RTMARK_BEGIN( "notify.take.blocking" );
        ulTaskNotifyTake( pdTRUE, portMAX_DELAY );
    }
}

static void vWakingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "notify.give.wake+ctx" );
        xTaskNotifyGive( xWaitingTask );
        RTMARK_END( "notify.take.blocking" );

        rtmark_expect( "times the task was notified", ulTimes, ulSample );
    }

    rtmark_ok();
}

static void prvWake( void )
{
    xWaitingTask = xBenchCreateTask( vWaitingTask, "waiting", benchHIGH_PRIORITY );
    xBenchCreateTask( vWakingTask, "waking", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "notify.give.wake+ctx", prvWake );
RTMARK_SCENARIO( "notify.take.blocking", prvWake );

/*-----------------------------------------------------------*/
/* notify.handover: two tasks of the same priority notify each other. */

static void vAnsweringTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        ulTaskNotifyTake( pdTRUE, portMAX_DELAY );
        RTMARK_END( "notify.handover" );
        ulTimes++;
        xTaskNotifyGive( xAskingTask );
    }
}

static void vAskingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "notify.handover" );
        xTaskNotifyGive( xWaitingTask );
        ulTaskNotifyTake( pdTRUE, portMAX_DELAY );

        rtmark_expect( "times the other task was notified", ulTimes, ulSample );
    }

    rtmark_ok();
}

static void prvHandOver( void )
{
    xWaitingTask = xBenchCreateTask( vAnsweringTask, "answering", benchLOW_PRIORITY );
    xAskingTask = xBenchCreateTask( vAskingTask, "asking", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "notify.handover", prvHandOver );
