/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A lock between three priorities: a binary semaphore (no protocol), a mutex (inheritance), and the
 * scheduler suspended (nobody else may run: a ceiling above all tasks). And waiters by priority.
 */
#include "bench.h"
#include "semphr.h"

#include "cortex_m.h"
#include "rounds.h"

#if defined( configMAX_SYSCALL_INTERRUPT_PRIORITY )
    /* The highest from which the kernel may be called. */
    #define priorityINTERRUPT    configMAX_SYSCALL_INTERRUPT_PRIORITY
#else
    #define priorityINTERRUPT    0
#endif

#define priorityLOW              ( tskIDLE_PRIORITY + 1 )
#define priorityMIDDLE           ( tskIDLE_PRIORITY + 2 )
#define priorityHIGH             ( tskIDLE_PRIORITY + 3 )

/*-----------------------------------------------------------*/
/* priority.inversion.none, .inheritance: the same program with either kind of lock. */

static SemaphoreHandle_t xLock;
static TaskHandle_t xHighTask;
static TaskHandle_t xMiddleTask;
static volatile uint32_t ulHighTimes;
static volatile uint32_t ulMiddleTimes;
static volatile uint32_t ulMiddleBefore;

RTMARK_BEGIN_AT_PEND( "priority.inversion.none", 16 );
RTMARK_BEGIN_AT_PEND( "priority.inversion.inheritance", 16 );
RTMARK_BEGIN_AT_PEND( "priority.inversion.ceiling", 16 );

void IRQ0_Handler( void )
{
    BaseType_t xHigherPriorityTaskWoken = pdFALSE;

    vTaskNotifyGiveFromISR( xMiddleTask, &xHigherPriorityTaskWoken );
    vTaskNotifyGiveFromISR( xHighTask, &xHigherPriorityTaskWoken );
    portYIELD_FROM_ISR( xHigherPriorityTaskWoken );
}

static void vHighTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        ulTaskNotifyTake( pdTRUE, portMAX_DELAY );
        xSemaphoreTake( xLock, portMAX_DELAY );
        RTMARK_END( "priority.inversion.none" );
        RTMARK_END( "priority.inversion.inheritance" );
        ulMiddleBefore = ulMiddleTimes;
        ulHighTimes++;
        xSemaphoreGive( xLock );
    }
}

static void vMiddleTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        ulTaskNotifyTake( pdTRUE, portMAX_DELAY );
        work_rounds( rtmark_point() );
        ulMiddleTimes++;
    }
}

static void prvCheck( uint32_t ulSample,
                      uint32_t ulBefore )
{
    rtmark_expect( "times the high task held the lock", ulHighTimes, ulSample );
    rtmark_expect( "times the middle task worked", ulMiddleTimes, ulSample );
    rtmark_expect( "times it had before the high one", ulMiddleBefore, ulBefore );
}

/* Its parameter says how often more than the high task the middle one has worked when that one
 * has the lock: once without a protocol. */
static void vLowTask( void * pvParameters )
{
    const uint32_t ulAhead = ( uint32_t ) pvParameters;

    NVIC_IPR0 = priorityINTERRUPT;
    NVIC_ISER0 = 1u;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_POINT_SAMPLES; ulSample++ )
    {
        /* No tick comes before the next one. */
        vTaskDelay( 1 );
        xSemaphoreTake( xLock, portMAX_DELAY );
        NVIC_ISPR0 = 1u;
        work_rounds( 1 );
        rtmark_expect( "times the high task had the lock beside this one", ulHighTimes, ulSample - 1u );
        xSemaphoreGive( xLock );

        prvCheck( ulSample, ulSample - 1u + ulAhead );
    }

    rtmark_point_ok();
}

static void prvCreateAll( TaskFunction_t pxHigh,
                          TaskFunction_t pxLow,
                          uint32_t ulParameter )
{
    xHighTask = xBenchCreateTask( pxHigh, "high", priorityHIGH );
    xMiddleTask = xBenchCreateTask( vMiddleTask, "middle", priorityMIDDLE );

    if( xTaskCreate( pxLow, "low", configMINIMAL_STACK_SIZE, ( void * ) ulParameter, priorityLOW, NULL ) != pdPASS )
    {
        rtmark_failed( "no heap left for a task" );
    }
}

static void prvInversion( SemaphoreHandle_t xKind,
                          uint32_t ulAhead )
{
    xLock = xKind;

    if( xLock == NULL )
    {
        rtmark_failed( "no heap left for the lock" );
    }

    prvCreateAll( vHighTask, vLowTask, ulAhead );
}

static void prvNone( void )
{
    SemaphoreHandle_t xBinary = xSemaphoreCreateBinary();

    if( xBinary != NULL )
    {
        xSemaphoreGive( xBinary );
    }

    prvInversion( xBinary, 1 );
}
RTMARK_SCENARIO( "priority.inversion.none", prvNone );

static void prvInheritance( void )
{
    prvInversion( xSemaphoreCreateMutex(), 0 );
}
RTMARK_SCENARIO( "priority.inversion.inheritance", prvInheritance );

/*-----------------------------------------------------------*/
/* priority.inversion.ceiling */

static void vHighCeilingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        ulTaskNotifyTake( pdTRUE, portMAX_DELAY );
        vTaskSuspendAll();
        RTMARK_END( "priority.inversion.ceiling" );
        ulMiddleBefore = ulMiddleTimes;
        ulHighTimes++;
        xTaskResumeAll();
    }
}

static void vLowCeilingTask( void * pvParameters )
{
    ( void ) pvParameters;
    NVIC_IPR0 = priorityINTERRUPT;
    NVIC_ISER0 = 1u;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_POINT_SAMPLES; ulSample++ )
    {
        vTaskDelay( 1 );
        vTaskSuspendAll();
        NVIC_ISPR0 = 1u;
        work_rounds( 1 );
        rtmark_expect( "times the high task ran beside this one", ulHighTimes, ulSample - 1u );
        xTaskResumeAll();

        prvCheck( ulSample, ulSample - 1u );
    }

    rtmark_point_ok();
}

static void prvCeiling( void )
{
    prvCreateAll( vHighCeilingTask, vLowCeilingTask, 0 );
}
RTMARK_SCENARIO( "priority.inversion.ceiling", prvCeiling );

/*-----------------------------------------------------------*/
/* priority.waiters: all but the last are of the lowest priority. Their stacks have room for what an
 * interrupt leaves there, which is larger where there is a floating-point unit. */

#if !defined( __ARM_ARCH_PROFILE ) || __ARM_ARCH_PROFILE != 'M'
    #define priorityWAITING_STACK_WORDS    168
#else
    #define priorityWAITING_STACK_WORDS    ( RTMARK_CORE_HAS_FPU ? 80 : 60 )
#endif

static SemaphoreHandle_t xSemaphore;
static StaticSemaphore_t xSemaphoreBuffer;
static volatile uint32_t ulOthersTimes;
static volatile uint32_t ulWaiting;

static void vLowestTask( void * pvParameters )
{
    ( void ) pvParameters;
    ulWaiting++;
    xSemaphoreTake( xSemaphore, portMAX_DELAY );
    ulOthersTimes++;
    vTaskSuspend( NULL );
}

static void vHighestTask( void * pvParameters )
{
    ( void ) pvParameters;

    /* Until all others wait. */
    vTaskDelay( 2u + rtmark_point() / 8u );

    for( ; ; )
    {
        rtmark_expect( "others that wait", ulWaiting, rtmark_point() - 1u );
        xSemaphoreTake( xSemaphore, portMAX_DELAY );
        ulHighTimes++;
    }
}

static void vGivingTask( void * pvParameters )
{
    ( void ) pvParameters;
    vTaskDelay( 4u + rtmark_point() / 8u );

    for( uint32_t ulSample = 0; ulSample < RTMARK_POINT_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "priority.waiters" );
        xSemaphoreGive( xSemaphore );
        RTMARK_END( "priority.waiters" );

        vTaskDelay( 1 );
        rtmark_expect( "times the highest was woken", ulHighTimes, ulSample + 1u );
        rtmark_expect( "times others were", ulOthersTimes, 0u );
    }

    rtmark_point_ok();
}

static void * prvRoom( size_t xBytes )
{
    void * const pvRoom = pvPortMalloc( xBytes );

    return pvRoom != NULL ? pvRoom : rtmark_room( xBytes, "tasks" );
}

static void prvWaiters( void )
{
    xSemaphore = xSemaphoreCreateBinaryStatic( &xSemaphoreBuffer );
    xBenchCreateTask( vGivingTask, "giving", priorityHIGH );
    xBenchCreateTask( vHighestTask, "highest", priorityMIDDLE );

    for( uint32_t ulNumber = 1; ulNumber < rtmark_point(); ulNumber++ )
    {
        StaticTask_t * const pxTask = prvRoom( sizeof( StaticTask_t ) );
        StackType_t * const pxStack = prvRoom( priorityWAITING_STACK_WORDS * sizeof( StackType_t ) );

        xTaskCreateStatic( vLowestTask, "lowest", priorityWAITING_STACK_WORDS, NULL, priorityLOW, pxStack, pxTask );
    }
}
RTMARK_SCENARIO( "priority.waiters", prvWaiters );
