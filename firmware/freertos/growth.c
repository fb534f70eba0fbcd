/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What things cost against how many there are. Tasks are created statically here, because
 * the heap is too small for so many. */
#include "bench.h"
#include "event_groups.h"
#include "queue.h"
#include "semphr.h"
#include "timers.h"

/* What the tasks below need, with room for an interrupted context. What an interrupt leaves there
 * is larger where there is a floating-point unit, or more registers than a Cortex-M has. */
#if defined( __riscv ) || defined( __aarch64__ )
#define growthSTACK_WORDS    160
#elif __ARM_ARCH_PROFILE != 'M'
#define growthSTACK_WORDS    128
#else
#define growthSTACK_WORDS    ( RTMARK_CORE_HAS_FPU ? 72 : 52 )
#endif

/* Those that wait for something are switched away from deeper inside the kernel. */
#define growthWAITING_STACK_WORDS    ( growthSTACK_WORDS + 8 )

#define growthLONG_DELAY     ( ( TickType_t ) 10000 )

/* Those that are counted yield to the one that measures, or the other way round. */
#define growthBELOW          tskIDLE_PRIORITY
#define growthABOVE          benchHIGH_PRIORITY

static volatile uint32_t ulTimes;

/* From the heap, and when that is used up, from what is left beside it. */
static void * prvRoom( size_t xBytes )
{
    void * const pvRoom = pvPortMalloc( xBytes );

    return pvRoom != NULL ? pvRoom : rtmark_room( xBytes, "tasks" );
}

static void prvCreate( TaskFunction_t pxCode,
                       uint32_t ulNumber,
                       UBaseType_t uxPriority,
                       uint32_t ulStackWords )
{
    StaticTask_t * const pxTask = prvRoom( sizeof( StaticTask_t ) );
    StackType_t * const pxStack = prvRoom( ulStackWords * sizeof( StackType_t ) );

    xTaskCreateStatic( pxCode, "growth", ulStackWords, ( void * ) ( uintptr_t ) ulNumber, uxPriority, pxStack, pxTask );
}

/* As many tasks as the point says, and the one that measures. */
static void prvCreateAll( TaskFunction_t pxCounted,
                          UBaseType_t uxPriority,
                          uint32_t ulStackWords,
                          TaskFunction_t pxMeasuring )
{
    xBenchCreateTask( pxMeasuring, "measuring", benchLOW_PRIORITY );

    for( uint32_t ulNumber = 0; ulNumber < rtmark_point(); ulNumber++ )
    {
        prvCreate( pxCounted, ulNumber, uxPriority, ulStackWords );
    }
}

/*-----------------------------------------------------------*/
/* growth.yield.ready */

static void vYieldTask( void * pvParameters )
{
    ( void ) pvParameters;

    /* In the first round nothing ends: each task begins the span anew. */
    for( ; ; )
    {
        RTMARK_BEGIN( "growth.yield.ready" );
        taskYIELD();
        RTMARK_END( "growth.yield.ready" );

        if( ++ulTimes == rtmark_point_yields() )
        {
            rtmark_point_ok();
        }
    }
}

static void prvYield( void )
{
    prvCreateAll( vYieldTask, benchLOW_PRIORITY, growthSTACK_WORDS, vYieldTask );
}
RTMARK_SCENARIO( "growth.yield.ready", prvYield );

/*-----------------------------------------------------------*/
/* growth.tick.delayed */

RTMARK_BEGIN_AT_PEND( "growth.tick.delayed", benchTICK );
RTMARK_END_AT_RETURN( "growth.tick.delayed", benchTICK );

static void vDelayedTask( void * pvParameters )
{
    ulTimes++;
    vTaskDelay( growthLONG_DELAY + ( TickType_t ) ( uintptr_t ) pvParameters );
    rtmark_failed( "a delay was over that was not due" );
}

static void vSpinTask( void * pvParameters )
{
    const TickType_t xEnd = xTaskGetTickCount() + RTMARK_POINT_SAMPLES;

    ( void ) pvParameters;
    rtmark_expect( "tasks delayed", ulTimes, rtmark_point() );

    while( xTaskGetTickCount() <= xEnd )
    {
    }

    rtmark_point_ok();
}

static void prvTickDelayed( void )
{
    prvCreateAll( vDelayedTask, growthABOVE, growthSTACK_WORDS, vSpinTask );
}
RTMARK_SCENARIO( "growth.tick.delayed", prvTickDelayed );

/*-----------------------------------------------------------*/
/* growth.tick.due: the first of the tasks that run ends the span. The others may take longer than
 * until the next tick, with which another one begins. */

RTMARK_BEGIN_AT_PEND( "growth.tick.due", benchTICK );

static volatile uint32_t ulLeft;

static void vDueTask( void * pvParameters )
{
    /* Long enough that all have run before the next one. */
    const TickType_t xPeriod = 1u + rtmark_point() / 8u;
    TickType_t xLastWakeTime = 0;

    ( void ) pvParameters;

    for( ; ; )
    {
        vTaskDelayUntil( &xLastWakeTime, xPeriod );

        if( ulLeft == 0u )
        {
            RTMARK_END( "growth.tick.due" );
            ulLeft = rtmark_point();
        }

        ulLeft--;
        rtmark_expect( "periods", xTaskGetTickCount() / xPeriod, xLastWakeTime / xPeriod );

        if( ++ulTimes == rtmark_point() * ( RTMARK_POINT_SAMPLES + 1u ) )
        {
            rtmark_point_ok();
        }
    }
}

static void prvTickDue( void )
{
    for( uint32_t ulNumber = 0; ulNumber < rtmark_point(); ulNumber++ )
    {
        prvCreate( vDueTask, ulNumber, benchLOW_PRIORITY, growthSTACK_WORDS );
    }
}
RTMARK_SCENARIO( "growth.tick.due", prvTickDue );

/*-----------------------------------------------------------*/
/* growth.delay.delayed: in each period, the others are due one tick earlier than the task that
 * measures, and have been delayed again when that one delays itself. */

static TickType_t prvPeriod( void )
{
    return 3u + rtmark_point() / 4u;
}

static void vEarlierTask( void * pvParameters )
{
    TickType_t xLastWakeTime = 0;

    ( void ) pvParameters;

    for( ; ; )
    {
        vTaskDelayUntil( &xLastWakeTime, prvPeriod() );
        ulTimes++;
    }
}

static void vLaterTask( void * pvParameters )
{
    ( void ) pvParameters;
    vTaskDelay( prvPeriod() - 1u );
    TickType_t xLastWakeTime = xTaskGetTickCount();

    for( uint32_t ulSample = 0; ulSample <= RTMARK_POINT_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "growth.delay.delayed" );
        vTaskDelayUntil( &xLastWakeTime, prvPeriod() );
        rtmark_expect( "times the others were delayed", ulTimes, ( ulSample + 1u ) * rtmark_point() );
    }

    rtmark_point_ok();
}

static void vMeanwhileTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        RTMARK_END( "growth.delay.delayed" );
        __asm__ __volatile__ ( "nop" );
    }
}

static void prvDelay( void )
{
    xBenchCreateTask( vLaterTask, "later", growthABOVE );
    prvCreateAll( vEarlierTask, growthABOVE, growthSTACK_WORDS, vMeanwhileTask );
}
RTMARK_SCENARIO( "growth.delay.delayed", prvDelay );

/*-----------------------------------------------------------*/
/* growth.wake.one */

static SemaphoreHandle_t xSemaphore;
static StaticSemaphore_t xSemaphoreBuffer;

static void vTakingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        xSemaphoreTake( xSemaphore, portMAX_DELAY );
        ulTimes++;
    }
}

/* Those below run, and wait again. */
static void prvLetOthersRun( void )
{
    vTaskDelay( 2u + rtmark_point() / 8u );
}

static void vGivingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_POINT_SAMPLES; ulSample++ )
    {
        prvLetOthersRun();
        rtmark_expect( "times the semaphore was taken", ulTimes, ulSample );

        RTMARK_BEGIN( "growth.wake.one" );
        xSemaphoreGive( xSemaphore );
        RTMARK_END( "growth.wake.one" );
    }

    rtmark_point_ok();
}

static void prvWakeOne( void )
{
    xSemaphore = xSemaphoreCreateBinaryStatic( &xSemaphoreBuffer );
    prvCreateAll( vTakingTask, growthBELOW, growthWAITING_STACK_WORDS, vGivingTask );
}
RTMARK_SCENARIO( "growth.wake.one", prvWakeOne );

/*-----------------------------------------------------------*/
/* growth.wake.all */

#define growthBIT    ( ( EventBits_t ) 1 )

static EventGroupHandle_t xEvents;
static StaticEventGroup_t xEventsBuffer;

static void vWaitingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        xEventGroupWaitBits( xEvents, growthBIT, pdTRUE, pdFALSE, portMAX_DELAY );
        ulTimes++;
    }
}

static void vPostingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_POINT_SAMPLES; ulSample++ )
    {
        prvLetOthersRun();
        rtmark_expect( "times tasks were woken", ulTimes, ulSample * rtmark_point() );

        RTMARK_BEGIN( "growth.wake.all" );
        xEventGroupSetBits( xEvents, growthBIT );
        RTMARK_END( "growth.wake.all" );
    }

    rtmark_point_ok();
}

static void prvWakeAll( void )
{
    xEvents = xEventGroupCreateStatic( &xEventsBuffer );
    prvCreateAll( vWaitingTask, growthBELOW, growthWAITING_STACK_WORDS, vPostingTask );
}
RTMARK_SCENARIO( "growth.wake.all", prvWakeAll );

/*-----------------------------------------------------------*/
/* growth.timer.*: the timer task has the highest priority, so that a command has been carried
 * out when the call returns. */

static void vNeverCallback( TimerHandle_t xTimer )
{
    ( void ) xTimer;
    rtmark_failed( "a timer went off that was not due" );
}

static TimerHandle_t prvCreateTimer( TickType_t xPeriod,
                                     UBaseType_t uxAutoReload,
                                     TimerCallbackFunction_t pxCallback )
{
    StaticTimer_t * const pxTimer = rtmark_room( sizeof( StaticTimer_t ), "timers" );

    return xTimerCreateStatic( "growth", xPeriod, uxAutoReload, NULL, pxCallback, pxTimer );
}

static void prvArmTimers( void )
{
    for( uint32_t ulNumber = 0; ulNumber < rtmark_point(); ulNumber++ )
    {
        TimerHandle_t xTimer = prvCreateTimer( growthLONG_DELAY + ulNumber, pdFALSE, vNeverCallback );

        rtmark_expect( "result of a start", ( uint32_t ) xTimerStart( xTimer, portMAX_DELAY ), pdPASS );
    }
}

static void vStartTask( void * pvParameters )
{
    ( void ) pvParameters;
    prvArmTimers();
    TimerHandle_t xTimer = prvCreateTimer( 2u * growthLONG_DELAY, pdFALSE, vNeverCallback );

    for( uint32_t ulSample = 0; ulSample < RTMARK_POINT_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "growth.timer.start" );
        xTimerStart( xTimer, portMAX_DELAY );
        RTMARK_END( "growth.timer.start" );

        rtmark_expect( "timer active", ( uint32_t ) xTimerIsTimerActive( xTimer ), pdTRUE );
        xTimerStop( xTimer, portMAX_DELAY );
    }

    rtmark_point_ok();
}

static void prvTimerStart( void )
{
    xBenchCreateTask( vStartTask, "start", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "growth.timer.start", prvTimerStart );

RTMARK_BEGIN_AT_PEND( "growth.timer.tick", benchTICK );
RTMARK_END_AT_RETURN( "growth.timer.tick", benchTICK );

static void vArmedTask( void * pvParameters )
{
    prvArmTimers();
    ulTimes = rtmark_point();
    vSpinTask( pvParameters );
}

static void prvTimerTick( void )
{
    xBenchCreateTask( vArmedTask, "armed", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "growth.timer.tick", prvTimerTick );

static void vExpiryCallback( TimerHandle_t xTimer );

RTMARK_BEGIN_AT_PEND( "growth.timer.expiry", benchTICK );
RTMARK_END_AT_ENTRY( "growth.timer.expiry", vExpiryCallback );

static void __attribute__( ( noinline ) ) vExpiryCallback( TimerHandle_t xTimer )
{
    ( void ) xTimer;

    if( ++ulTimes > RTMARK_POINT_SAMPLES )
    {
        rtmark_point_ok();
    }
}

static void vExpiryTask( void * pvParameters )
{
    ( void ) pvParameters;
    prvArmTimers();
    xTimerStart( prvCreateTimer( 1, pdTRUE, vExpiryCallback ), portMAX_DELAY );
    vTaskSuspend( NULL );
}

static void prvTimerExpiry( void )
{
    xBenchCreateTask( vExpiryTask, "expiry", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "growth.timer.expiry", prvTimerExpiry );

/*-----------------------------------------------------------*/
/* growth.queue.send, growth.queue.receive */

static void vDepthTask( void * pvParameters )
{
    static StaticQueue_t xQueueBuffer;
    uint8_t * const pucStorage = rtmark_room( rtmark_point() * sizeof( uint32_t ), "items" );
    QueueHandle_t xQueue = xQueueCreateStatic( rtmark_point(), sizeof( uint32_t ), pucStorage, &xQueueBuffer );

    ( void ) pvParameters;

    for( uint32_t ulNumber = 1; ulNumber < rtmark_point(); ulNumber++ )
    {
        xQueueSend( xQueue, &ulNumber, portMAX_DELAY );
    }

    for( uint32_t ulSample = 0; ulSample < RTMARK_POINT_SAMPLES; ulSample++ )
    {
        const uint32_t ulSent = rtmark_point() + ulSample;
        uint32_t ulReceived = 0;

        RTMARK_BEGIN( "growth.queue.send" );
        xQueueSend( xQueue, &ulSent, portMAX_DELAY );
        RTMARK_END( "growth.queue.send" );

        rtmark_expect( "items", ( uint32_t ) uxQueueMessagesWaiting( xQueue ), rtmark_point() );

        RTMARK_BEGIN( "growth.queue.receive" );
        xQueueReceive( xQueue, &ulReceived, portMAX_DELAY );
        RTMARK_END( "growth.queue.receive" );

        rtmark_expect( "item", ulReceived, ulSample + 1u );
    }

    rtmark_point_ok();
}

static void prvDepth( void )
{
    xBenchCreateTask( vDepthTask, "depth", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "growth.queue.send", prvDepth );
RTMARK_SCENARIO( "growth.queue.receive", prvDepth );

/*-----------------------------------------------------------*/
/* growth.heap.holes: between blocks that are held, as in heap.malloc.fragmented. */

static void vHolesTask( void * pvParameters )
{
    void ** const ppvHoles = rtmark_room( rtmark_point() * sizeof( void * ), "holes" );

    ( void ) pvParameters;

    for( uint32_t ulHole = 0; ulHole < rtmark_point(); ulHole++ )
    {
        ppvHoles[ ulHole ] = pvPortMalloc( 8 );

        if( ( ppvHoles[ ulHole ] == NULL ) || ( pvPortMalloc( 8 ) == NULL ) )
        {
            rtmark_no_room( "holes" );
        }
    }

    for( uint32_t ulHole = 0; ulHole < rtmark_point(); ulHole++ )
    {
        vPortFree( ppvHoles[ ulHole ] );
    }

    for( uint32_t ulSample = 0; ulSample < RTMARK_POINT_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "growth.heap.holes" );
        void * const pvBlock = pvPortMalloc( 64 );
        RTMARK_END( "growth.heap.holes" );

        rtmark_expect( "block behind the holes", pvBlock > ppvHoles[ rtmark_point() - 1u ], 1u );
        vPortFree( pvBlock );
    }

    rtmark_point_ok();
}

static void prvHoles( void )
{
    xBenchCreateTask( vHolesTask, "holes", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "growth.heap.holes", prvHoles );
