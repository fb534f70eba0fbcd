/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The mixed load of load.h: tasks, timers, a queue, a mutex, a semaphore and notifications,
 * for `rtmark worst --load`.
 */
#include "bench.h"
#include "queue.h"
#include "semphr.h"
#include "timers.h"

#include "load.h"

#if defined( configMAX_SYSCALL_INTERRUPT_PRIORITY )
    /* One below the highest from which the kernel may be called, which the alarm has. */
    #define loadDEVICE_PRIORITY    ( configMAX_SYSCALL_INTERRUPT_PRIORITY + ( 1 << ( 8 - configPRIO_BITS ) ) )
#else
    #define loadDEVICE_PRIORITY    0x40
#endif

#define loadJUDGE_PRIORITY       ( tskIDLE_PRIORITY + 1 )
#define loadSLOW_PRIORITY        ( tskIDLE_PRIORITY + 2 )
#define loadSERVER_PRIORITY      ( tskIDLE_PRIORITY + 2 )
#define loadMIDDLE_PRIORITY      ( tskIDLE_PRIORITY + 3 )
#define loadCONSUMER_PRIORITY    ( tskIDLE_PRIORITY + 3 )
#define loadFAST_PRIORITY        ( tskIDLE_PRIORITY + 4 )
#define loadURGENT_PRIORITY      ( tskIDLE_PRIORITY + 4 )

static QueueHandle_t xItems;
static SemaphoreHandle_t xWork;
static SemaphoreHandle_t xLock;
static TimerHandle_t xOnce;
static TaskHandle_t xUrgent;

#if configUSE_TICKLESS_IDLE

/* The port sets SysTick up itself, and keeps what a tick is; with this clock it is one of the load. */
const unsigned long ulBenchClock = LOAD_TICK_CYCLES * configTICK_RATE_HZ;

#elif __ARM_ARCH_PROFILE == 'M'

/*
 * The kernel's own SysTick, with the ticks of the load instead of configTICK_RATE_HZ.
 * The port's is weak for that.
 */
void vPortSetupTimerInterrupt( void )
{
    SYST_CSR = 0;
    SYST_CVR = 0;
    SYST_RVR = LOAD_TICK_CYCLES - 1u;
    SYST_CSR = SYST_CSR_CLKSOURCE_CORE | SYST_CSR_TICKINT | SYST_CSR_ENABLE;
}

#endif

/* Has the tick of a timer beside the core come as the load wants it. */
static inline void prvStartTicks( void )
{
    #if __ARM_ARCH_PROFILE == 'R'
        load_set_tick();
    #endif
}
/*-----------------------------------------------------------*/

static void prvSendFromISR( enum load_source eSource,
                            BaseType_t * pxHigherPriorityTaskWoken )
{
    const struct load_item xItem = load_next( eSource );

    load_was_sent( eSource, xQueueSendFromISR( xItems, &xItem, pxHigherPriorityTaskWoken ) == pdPASS );
}

/* The device. */
void IRQ0_Handler( void )
{
    BaseType_t xHigherPriorityTaskWoken = pdFALSE;

    prvSendFromISR( LOAD_DEVICE, &xHigherPriorityTaskWoken );
    portYIELD_FROM_ISR( xHigherPriorityTaskWoken );
}

/* The alarm. */
void IRQ8_Handler( void )
{
    BaseType_t xHigherPriorityTaskWoken = pdFALSE;

    prvSendFromISR( LOAD_ALARM, &xHigherPriorityTaskWoken );

    load.given_by_alarm++;
    xSemaphoreGiveFromISR( xWork, &xHigherPriorityTaskWoken );

    load.wakes++;
    vTaskNotifyGiveFromISR( xUrgent, &xHigherPriorityTaskWoken );

    load.events++;
    portYIELD_FROM_ISR( xHigherPriorityTaskWoken );
}
/*-----------------------------------------------------------*/

static void prvCountEvent( void )
{
    taskENTER_CRITICAL();
    load.events++;
    taskEXIT_CRITICAL();
}

static void vUrgentTask( void * pvParameters )
{
    ( void ) pvParameters;
    prvStartTicks();
    RTMARK_BEGIN( "load.mixed" );

    for( ; ; )
    {
        load.woken += ulTaskNotifyTake( pdFALSE, portMAX_DELAY ) != 0u;
    }
}

static void vFastTask( void * pvParameters )
{
    TickType_t xLast = 0;

    ( void ) pvParameters;

    for( uint32_t ulJob = 0; ulJob < LOAD_TICKS / LOAD_FAST; ulJob++ )
    {
        xTaskDelayUntil( &xLast, LOAD_FAST );
        LOAD_FAST_RUNS();
        prvCountEvent();
        NVIC_ISPR0 = 1u;
        load.fast++;
    }

    vTaskSuspend( NULL );
}

static void vMiddleTask( void * pvParameters )
{
    TickType_t xLast = 0;

    ( void ) pvParameters;

    for( uint32_t ulJob = 0; ulJob < LOAD_TICKS / LOAD_MIDDLE; ulJob++ )
    {
        xTaskDelayUntil( &xLast, LOAD_MIDDLE );

        xSemaphoreTake( xLock, portMAX_DELAY );
        load.first++;
        prvCountEvent();
        load.second++;
        xSemaphoreGive( xLock );

        const struct load_item xItem = load_next( LOAD_MIDDLE_TASK );
        load_was_sent( LOAD_MIDDLE_TASK, xQueueSend( xItems, &xItem, 0 ) == pdPASS );
        load.middle++;
    }

    vTaskSuspend( NULL );
}

static void vSlowTask( void * pvParameters )
{
    TickType_t xLast = 0;

    ( void ) pvParameters;

    for( uint32_t ulJob = 0; ulJob < LOAD_TICKS / LOAD_SLOW; ulJob++ )
    {
        xTaskDelayUntil( &xLast, LOAD_SLOW );
        xTimerReset( xOnce, portMAX_DELAY );

        xSemaphoreTake( xLock, portMAX_DELAY );
        load.first++;
        vTaskDelay( 1 );
        load.second++;
        xSemaphoreGive( xLock );

        prvCountEvent();
        load.slow++;
    }

    vTaskSuspend( NULL );
}

static void vConsumerTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        struct load_item xItem;

        xQueueReceive( xItems, &xItem, portMAX_DELAY );
        load_received( &xItem );
    }
}

static void vServerTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        xSemaphoreTake( xWork, portMAX_DELAY );
        load.taken++;
    }
}

static void vGive( TimerHandle_t xTimer )
{
    /* The timers beyond the hyperperiod are nobody's. */
    if( load.timers < LOAD_TICKS / LOAD_TIMER + LOAD_TICKS / LOAD_SLOW )
    {
        load.timers++;
        xSemaphoreGive( xWork );
    }
    else
    {
        xTimerStop( xTimer, 0 );
    }
}

static void vJudgeTask( void * pvParameters )
{
    ( void ) pvParameters;
    vTaskDelay( LOAD_END );

    for( uint32_t ulTick = 0; ; ulTick++ )
    {
        taskENTER_CRITICAL();

        if( load_is_quiet() || ( ulTick == LOAD_GRACE ) )
        {
            load_judge();
        }

        taskEXIT_CRITICAL();
        vTaskDelay( 1 );
    }
}
/*-----------------------------------------------------------*/

/* Static, because the heap of 4096 bytes has no room for so many stacks. */
static TaskHandle_t prvCreate( TaskFunction_t pxTaskCode,
                               const char * pcName,
                               UBaseType_t uxPriority )
{
    enum { TASKS = 7 };

    static StaticTask_t xTasks[ TASKS ];
    static StackType_t uxStacks[ TASKS ][ configMINIMAL_STACK_SIZE ];
    static uint32_t ulNext;
    const uint32_t ulTask = ulNext++;

    return xTaskCreateStatic( pxTaskCode, pcName, configMINIMAL_STACK_SIZE, NULL, uxPriority,
                              uxStacks[ ulTask ], &xTasks[ ulTask ] );
}

static void prvLoad( void )
{
    xItems = xQueueCreate( LOAD_ITEMS, sizeof( struct load_item ) );
    xWork = xSemaphoreCreateCounting( LOAD_ITEMS, 0 );
    xLock = xSemaphoreCreateMutex();
    xOnce = xTimerCreate( "once", 1, pdFALSE, NULL, vGive );
    TimerHandle_t xEvery = xTimerCreate( "every", LOAD_TIMER, pdTRUE, NULL, vGive );

    xUrgent = prvCreate( vUrgentTask, "urgent", loadURGENT_PRIORITY );
    prvCreate( vFastTask, "fast", loadFAST_PRIORITY );
    prvCreate( vConsumerTask, "consumer", loadCONSUMER_PRIORITY );
    prvCreate( vMiddleTask, "middle", loadMIDDLE_PRIORITY );
    prvCreate( vServerTask, "server", loadSERVER_PRIORITY );
    prvCreate( vSlowTask, "slow", loadSLOW_PRIORITY );
    prvCreate( vJudgeTask, "judge", loadJUDGE_PRIORITY );

    if( ( xItems == NULL ) || ( xWork == NULL ) || ( xLock == NULL ) || ( xOnce == NULL ) ||
        ( xEvery == NULL ) || ( xTimerStart( xEvery, 0 ) != pdPASS ) )
    {
        rtmark_failed( "no heap left for the load" );
    }

    NVIC_IPR0 = loadDEVICE_PRIORITY;
    NVIC_ISER0 = 1u;
}
LOAD_SCENARIO( prvLoad );
