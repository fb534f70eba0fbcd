/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a delay really takes, and what a tick costs. */
#include "bench.h"
#include "queue.h"
#include "timers.h"

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

RTMARK_BEGIN_AT_PEND( "timer.tick", benchTICK );
RTMARK_END_AT_RETURN( "timer.tick", benchTICK );

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

/*-----------------------------------------------------------*/
/* timer.wake */

RTMARK_BEGIN_AT_PEND( "timer.wake", benchTICK );

static void vWakeTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        vTaskDelay( 1 );
        RTMARK_END( "timer.wake" );
        rtmark_expect( "ticks", xTaskGetTickCount(), ulSample + 1u );
    }

    rtmark_ok();
}

static void prvWake( void )
{
    xBenchCreateTask( vWakeTask, "wake", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "timer.wake", prvWake );

/*-----------------------------------------------------------*/
/* timer.period.10ms */

static void vPeriodTask( void * pvParameters )
{
    ( void ) pvParameters;
    TickType_t xLastWakeTime = xTaskGetTickCount();

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        vTaskDelayUntil( &xLastWakeTime, pdMS_TO_TICKS( 10 ) );
        RTMARK_END( "timer.period.10ms" );
        RTMARK_BEGIN( "timer.period.10ms" );
        rtmark_expect( "ticks", xTaskGetTickCount(), pdMS_TO_TICKS( 10 ) * ulSample );
    }

    rtmark_ok();
}

static void prvPeriod( void )
{
    xBenchCreateTask( vPeriodTask, "period", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "timer.period.10ms", prvPeriod );

/*-----------------------------------------------------------*/
/* timer.now */

static void vNowTask( void * pvParameters )
{
    ( void ) pvParameters;

    vTaskDelay( 1 );

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "timer.now" );
        const TickType_t xNow = xTaskGetTickCount();
        RTMARK_END( "timer.now" );

        rtmark_expect( "time has come", xNow != 0u, 1u );
    }

    rtmark_ok();
}

static void prvNow( void )
{
    xBenchCreateTask( vNowTask, "now", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "timer.now", prvNow );

/*-----------------------------------------------------------*/
/* timer.start, timer.stop: a command to the timer task, whose priority is higher, so that
 * it has been carried out when the call returns. */

static volatile uint32_t ulExpired;

static void vNeverCallback( TimerHandle_t xTimer )
{
    ( void ) xTimer;
    rtmark_failed( "a timer went off that was stopped" );
}

static void vStartTask( void * pvParameters )
{
    ( void ) pvParameters;
    TimerHandle_t xTimer = xTimerCreate( "timer", pdMS_TO_TICKS( 1000 ), pdFALSE, NULL, vNeverCallback );

    if( xTimer == NULL )
    {
        rtmark_failed( "no heap left for the timer" );
    }

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "timer.start" );
        xTimerStart( xTimer, portMAX_DELAY );
        RTMARK_END( "timer.start" );

        rtmark_expect( "timer active", ( uint32_t ) xTimerIsTimerActive( xTimer ), pdTRUE );

        RTMARK_BEGIN( "timer.stop" );
        xTimerStop( xTimer, portMAX_DELAY );
        RTMARK_END( "timer.stop" );

        rtmark_expect( "timer active", ( uint32_t ) xTimerIsTimerActive( xTimer ), pdFALSE );
    }

    rtmark_ok();
}

static void prvStart( void )
{
    xBenchCreateTask( vStartTask, "start", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "timer.start", prvStart );
RTMARK_SCENARIO( "timer.stop", prvStart );

/*-----------------------------------------------------------*/
/* timer.expiry */

static void vExpiryCallback( TimerHandle_t xTimer );

RTMARK_BEGIN_AT_PEND( "timer.expiry", benchTICK );
RTMARK_END_AT_ENTRY( "timer.expiry", vExpiryCallback );

static void __attribute__( ( noinline ) ) vExpiryCallback( TimerHandle_t xTimer )
{
    ( void ) xTimer;

    if( ++ulExpired > RTMARK_SAMPLES )
    {
        rtmark_ok();
    }
}

static void prvExpiry( void )
{
    TimerHandle_t xTimer = xTimerCreate( "timer", 1, pdTRUE, NULL, vExpiryCallback );

    rtmark_expect( "result of the start", ( uint32_t ) xTimerStart( xTimer, 0 ), pdPASS );
}
RTMARK_SCENARIO( "timer.expiry", prvExpiry );

/*-----------------------------------------------------------*/
/* timer.jitter */

#define timerJITTER_TICKS    1000u
#define timerITEM_BYTES      10

/* At a multiple of four, as what has a word in it: two bytes of padding follow. */
typedef struct
{
    uint8_t ucBytes[ timerITEM_BYTES ];
} __attribute__( ( aligned( 4 ) ) ) Item_t;

static QueueHandle_t xLoadQueue;

RTMARK_BEGIN_AT_PEND( "timer.jitter", benchTICK );

static void vJitterTask( void * pvParameters )
{
    ( void ) pvParameters;
    TickType_t xLastWakeTime = xTaskGetTickCount();

    for( uint32_t ulSample = 1; ulSample <= timerJITTER_TICKS; ulSample++ )
    {
        vTaskDelayUntil( &xLastWakeTime, 1 );
        RTMARK_END( "timer.jitter" );
        rtmark_expect( "ticks", xTaskGetTickCount(), ulSample );
    }

    rtmark_ok();
}

static void vLoadTask( void * pvParameters )
{
    ( void ) pvParameters;
    static const Item_t xSent = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } };
    Item_t xItem = { { 0 } };

    for( ; ; )
    {
        xQueueSend( xLoadQueue, &xSent, 0 );
        xQueueReceive( xLoadQueue, &xItem, 0 );
        rtmark_expect( "last byte of the item", xItem.ucBytes[ timerITEM_BYTES - 1 ], timerITEM_BYTES );
    }
}

static void prvJitter( void )
{
    xLoadQueue = xQueueCreate( 4, sizeof( Item_t ) );
    xBenchCreateTask( vJitterTask, "jitter", benchHIGH_PRIORITY );
    xBenchCreateTask( vLoadTask, "load", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "timer.jitter", prvJitter );
