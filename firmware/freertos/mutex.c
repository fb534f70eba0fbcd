/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A mutex with priority inheritance, which all of FreeRTOS' mutexes have. */
#include "bench.h"
#include "semphr.h"

static SemaphoreHandle_t xMutex;
static TaskHandle_t xHighTask;
static volatile uint32_t ulTimes;

static void prvCheckMutex( void )
{
    if( xMutex == NULL )
    {
        rtmark_failed( "no heap left for the mutex" );
    }
}

/*-----------------------------------------------------------*/
/* mutex.lock.immediate, mutex.unlock.immediate */

static void vLockTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "mutex.lock.immediate" );
        const BaseType_t xLocked = xSemaphoreTake( xMutex, portMAX_DELAY );
        RTMARK_END( "mutex.lock.immediate" );

        rtmark_expect( "result of the lock", ( uint32_t ) xLocked, pdTRUE );

        RTMARK_BEGIN( "mutex.unlock.immediate" );
        const BaseType_t xUnlocked = xSemaphoreGive( xMutex );
        RTMARK_END( "mutex.unlock.immediate" );

        rtmark_expect( "result of the unlock", ( uint32_t ) xUnlocked, pdTRUE );
    }

    rtmark_ok();
}

static void prvLock( void )
{
    xMutex = xSemaphoreCreateMutex();
    prvCheckMutex();
    xBenchCreateTask( vLockTask, "lock", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "mutex.lock.immediate", prvLock );
RTMARK_SCENARIO( "mutex.unlock.immediate", prvLock );

/*-----------------------------------------------------------*/
/* mutex.lock.poll_taken: a task of lower priority holds it. */

static void vPollTask( void * pvParameters )
{
    ( void ) pvParameters;

    /* Until the other task holds it. */
    vTaskSuspend( NULL );

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "mutex.lock.poll_taken" );
        const BaseType_t xLocked = xSemaphoreTake( xMutex, 0 );
        RTMARK_END( "mutex.lock.poll_taken" );

        rtmark_expect( "result of the lock", ( uint32_t ) xLocked, pdFALSE );
    }

    rtmark_ok();
}

static void vHolderTask( void * pvParameters )
{
    ( void ) pvParameters;
    xSemaphoreTake( xMutex, portMAX_DELAY );
    vTaskResume( xHighTask );
    rtmark_failed( "the task that polls has ended" );
}

static void prvPoll( void )
{
    xMutex = xSemaphoreCreateMutex();
    prvCheckMutex();
    xHighTask = xBenchCreateTask( vPollTask, "poll", benchHIGH_PRIORITY );
    xBenchCreateTask( vHolderTask, "holder", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "mutex.lock.poll_taken", prvPoll );

/*-----------------------------------------------------------*/
/* mutex.lock.blocking, mutex.unlock.wake+ctx: the holder inherits the priority of the
 * task that waits, and loses it when it unlocks. */

static void vContendingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        vTaskSuspend( NULL );
        RTMARK_BEGIN( "mutex.lock.blocking" );
        xSemaphoreTake( xMutex, portMAX_DELAY );
        RTMARK_END( "mutex.unlock.wake+ctx" );
        ulTimes++;
        xSemaphoreGive( xMutex );
    }
}

static void vHoldingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        xSemaphoreTake( xMutex, portMAX_DELAY );
        vTaskResume( xHighTask );
        RTMARK_END( "mutex.lock.blocking" );

        rtmark_expect( "inherited priority", uxTaskPriorityGet( NULL ), benchHIGH_PRIORITY );

        RTMARK_BEGIN( "mutex.unlock.wake+ctx" );
        xSemaphoreGive( xMutex );

        rtmark_expect( "times the other task held the mutex", ulTimes, ulSample );
        rtmark_expect( "priority after the unlock", uxTaskPriorityGet( NULL ), benchLOW_PRIORITY );
    }

    rtmark_ok();
}

static void prvContend( void )
{
    xMutex = xSemaphoreCreateMutex();
    prvCheckMutex();
    xHighTask = xBenchCreateTask( vContendingTask, "contending", benchHIGH_PRIORITY );
    xBenchCreateTask( vHoldingTask, "holding", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "mutex.lock.blocking", prvContend );
RTMARK_SCENARIO( "mutex.unlock.wake+ctx", prvContend );

/*-----------------------------------------------------------*/
/* mutex.lock.recursive, mutex.unlock.recursive */

static void vRecursiveTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        xSemaphoreTakeRecursive( xMutex, portMAX_DELAY );

        RTMARK_BEGIN( "mutex.lock.recursive" );
        const BaseType_t xLocked = xSemaphoreTakeRecursive( xMutex, portMAX_DELAY );
        RTMARK_END( "mutex.lock.recursive" );

        RTMARK_BEGIN( "mutex.unlock.recursive" );
        const BaseType_t xUnlocked = xSemaphoreGiveRecursive( xMutex );
        RTMARK_END( "mutex.unlock.recursive" );

        rtmark_expect( "result of the second lock", ( uint32_t ) xLocked, pdTRUE );
        rtmark_expect( "result of the first unlock", ( uint32_t ) xUnlocked, pdTRUE );
        rtmark_expect( "mutex free", uxSemaphoreGetCount( xMutex ), 0u );
        xSemaphoreGiveRecursive( xMutex );
        rtmark_expect( "mutex free", uxSemaphoreGetCount( xMutex ), 1u );
    }

    rtmark_ok();
}

static void prvRecursive( void )
{
    xMutex = xSemaphoreCreateRecursiveMutex();
    prvCheckMutex();
    xBenchCreateTask( vRecursiveTask, "recursive", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "mutex.lock.recursive", prvRecursive );
RTMARK_SCENARIO( "mutex.unlock.recursive", prvRecursive );

/*-----------------------------------------------------------*/
/* mutex.critical_section */

static void vCriticalTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "mutex.critical_section" );
        taskENTER_CRITICAL();
        ulTimes++;
        taskEXIT_CRITICAL();
        RTMARK_END( "mutex.critical_section" );

        rtmark_expect( "increments", ulTimes, ulSample );
    }

    rtmark_ok();
}

static void prvCritical( void )
{
    xBenchCreateTask( vCriticalTask, "critical", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "mutex.critical_section", prvCritical );

/*-----------------------------------------------------------*/
/* mutex.chain.lock, mutex.chain.unlock: the holder of the mutex that is wanted inherits the
 * highest priority, but he waits himself, and the one for whom he waits keeps his. */

#define benchHIGHEST_PRIORITY    ( benchHIGH_PRIORITY + 1 )

static SemaphoreHandle_t xOuter;
static TaskHandle_t xHighestTask;

static void vChainHighestTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        vTaskSuspend( NULL );
        RTMARK_BEGIN( "mutex.chain.lock" );
        xSemaphoreTake( xOuter, portMAX_DELAY );
        RTMARK_END( "mutex.chain.unlock" );
        ulTimes++;
        xSemaphoreGive( xOuter );
    }
}

static void vChainMiddleTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        vTaskSuspend( NULL );
        xSemaphoreTake( xOuter, portMAX_DELAY );
        xSemaphoreTake( xMutex, portMAX_DELAY );
        xSemaphoreGive( xOuter );
        xSemaphoreGive( xMutex );
    }
}

static void vChainLowestTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        xSemaphoreTake( xMutex, portMAX_DELAY );
        vTaskResume( xHighTask );
        vTaskResume( xHighestTask );
        RTMARK_END( "mutex.chain.lock" );

        rtmark_expect( "priority of who waits too", uxTaskPriorityGet( xHighTask ), benchHIGHEST_PRIORITY );
        rtmark_expect( "inherited priority", uxTaskPriorityGet( NULL ), benchHIGH_PRIORITY );

        RTMARK_BEGIN( "mutex.chain.unlock" );
        xSemaphoreGive( xMutex );

        rtmark_expect( "times the highest task held the mutex", ulTimes, ulSample );
        rtmark_expect( "priority after the unlock", uxTaskPriorityGet( NULL ), benchLOW_PRIORITY );
    }

    rtmark_ok();
}

static void prvChain( void )
{
    xMutex = xSemaphoreCreateMutex();
    prvCheckMutex();
    xOuter = xSemaphoreCreateMutex();
    xHighestTask = xBenchCreateTask( vChainHighestTask, "highest", benchHIGHEST_PRIORITY );
    xHighTask = xBenchCreateTask( vChainMiddleTask, "middle", benchHIGH_PRIORITY );
    xBenchCreateTask( vChainLowestTask, "lowest", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "mutex.chain.lock", prvChain );
RTMARK_SCENARIO( "mutex.chain.unlock", prvChain );
