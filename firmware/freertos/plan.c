/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The task set of plan.h: tasks that the tick or an interrupt releases, mutexes and queues between them. */
#include "bench.h"
#include "queue.h"
#include "semphr.h"

#include "plan.h"

#if defined( configMAX_SYSCALL_INTERRUPT_PRIORITY )
    #define planPRIORITY    configMAX_SYSCALL_INTERRUPT_PRIORITY
#else
    #define planPRIORITY    0
#endif

static SemaphoreHandle_t xLocks[ PLAN_LOCKS ];

static QueueHandle_t xQueues[ PLAN_QUEUES ];

struct plan_traffic rtmark_plan_traffic[ PLAN_QUEUES ];

typedef struct
{
    uint32_t ulWords[ PLAN_MESSAGE_BYTES / sizeof( uint32_t ) ];
} Message_t;

/* By interrupt: what its handler gives, and NULL where nobody waits for it. */
static SemaphoreHandle_t xReleased[ PLAN_INTERRUPTS ];

/*
 * The kernel's own SysTick, with the ticks of the table instead of configTICK_RATE_HZ.
 * The port's is weak for that.
 */
void vPortSetupTimerInterrupt( void )
{
    SYST_CSR = 0;
    SYST_CVR = 0;
    SYST_RVR = rtmark_plan.tick_cycles - 1u;
    SYST_CSR = SYST_CSR_CLKSOURCE_CORE | SYST_CSR_TICKINT | SYST_CSR_ENABLE;
}
/*-----------------------------------------------------------*/

/* What has gathered in these queues. */
static void __attribute__( ( noinline ) ) prvReceive( uint32_t ulQueues )
{
    Message_t xMessage;

    for( uint32_t ulQueue = 0; ulQueue < PLAN_QUEUES; ulQueue++ )
    {
        if( ( ulQueues & ( 1u << ulQueue ) ) != 0u )
        {
            while( xQueueReceive( xQueues[ ulQueue ], &xMessage, 0 ) == pdPASS )
            {
                rtmark_plan_traffic[ ulQueue ].received++;
            }
        }
    }
}

/* A message to each of these. */
static void __attribute__( ( noinline ) ) prvSend( uint32_t ulQueues )
{
    static const Message_t xMessage = { { 1, 2, 3 } };

    for( uint32_t ulQueue = 0; ulQueue < PLAN_QUEUES; ulQueue++ )
    {
        if( ( ulQueues & ( 1u << ulQueue ) ) != 0u )
        {
            if( xQueueSend( xQueues[ ulQueue ], &xMessage, 0 ) == pdPASS )
            {
                rtmark_plan_traffic[ ulQueue ].sent++;
            }
            else
            {
                rtmark_plan_traffic[ ulQueue ].lost++;
            }
        }
    }
}

static void __attribute__( ( noinline ) ) prvJob( const volatile struct plan_task * pxTask )
{
    const uint32_t ulStretches = pxTask->stretches;
    const uint32_t ulReceives = pxTask->receives;
    const uint32_t ulSends = pxTask->sends;

    if( ulReceives != 0u )
    {
        prvReceive( ulReceives );
    }

    for( uint32_t ulStretch = 0; ulStretch < ulStretches; ulStretch++ )
    {
        const uint32_t ulLock = pxTask->stretch[ ulStretch ].lock;

        if( ulLock == 0u )
        {
            plan_burn( pxTask->stretch[ ulStretch ].rounds );
        }
        else
        {
            const uint32_t ulOuter = PLAN_OUTER( ulLock );
            const uint32_t ulInner = PLAN_INNER( ulLock );

            RTMARK_BEGIN( "plan.take" );
            xSemaphoreTake( xLocks[ ulOuter - 1u ], portMAX_DELAY );
            RTMARK_END( "plan.take" );

            if( ulInner == 0u )
            {
                plan_burn( pxTask->stretch[ ulStretch ].rounds );
            }
            else
            {
                const uint32_t ulRounds = pxTask->stretch[ ulStretch ].rounds;

                plan_burn( ulRounds / 2u );
                ulStretch++;
                RTMARK_BEGIN( "plan.take" );
                xSemaphoreTake( xLocks[ ulInner - 1u ], portMAX_DELAY );
                RTMARK_END( "plan.take" );
                plan_burn( pxTask->stretch[ ulStretch ].rounds );
                RTMARK_BEGIN( "plan.give" );
                xSemaphoreGive( xLocks[ ulInner - 1u ] );
                RTMARK_END( "plan.give" );
                plan_burn( ulRounds - ulRounds / 2u );
            }

            RTMARK_BEGIN( "plan.give" );
            xSemaphoreGive( xLocks[ ulOuter - 1u ] );
            RTMARK_END( "plan.give" );
        }
    }

    if( ulSends != 0u )
    {
        prvSend( ulSends );
    }
}

static void prvHandle( uint32_t ulInterrupt )
{
    BaseType_t xHigherPriorityTaskWoken = pdFALSE;

    plan_burn( rtmark_plan.interrupt_rounds[ ulInterrupt ] );

    if( xReleased[ ulInterrupt ] != NULL )
    {
        xSemaphoreGiveFromISR( xReleased[ ulInterrupt ], &xHigherPriorityTaskWoken );
        portYIELD_FROM_ISR( xHigherPriorityTaskWoken );
    }
}

void IRQ0_Handler( void )
{
    prvHandle( 0 );
}

void IRQ1_Handler( void )
{
    prvHandle( 1 );
}
/*-----------------------------------------------------------*/

/* Until the first release: that in the tick from which offsets count, or by the interrupt. */
static void prvStart( const volatile struct plan_task * pxTask,
                      TickType_t * pxLastWakeTime )
{
    if( pxTask->interrupt == 0u )
    {
        xTaskDelayUntil( pxLastWakeTime, PLAN_START + pxTask->offset );
    }
    else
    {
        xSemaphoreTake( xReleased[ pxTask->interrupt - 1u ], portMAX_DELAY );
    }
}

/* Until the next one. */
static inline void prvWait( const volatile struct plan_task * pxTask,
                            TickType_t * pxLastWakeTime )
{
    if( pxTask->interrupt == 0u )
    {
        xTaskDelayUntil( pxLastWakeTime, pxTask->period );
    }
    else
    {
        xSemaphoreTake( xReleased[ pxTask->interrupt - 1u ], portMAX_DELAY );
    }
}

/* A task's function, with probes of its own. */
#define planTASK( number )                                                      \
    static void vTask ## number( void * pvParameters )                          \
    {                                                                           \
        const volatile struct plan_task * const pxTask = &rtmark_plan.task[ number ]; \
        TickType_t xLastWakeTime = 0;                                           \
                                                                                \
        ( void ) pvParameters;                                                  \
        prvStart( pxTask, &xLastWakeTime );                                     \
                                                                                \
        for( ; ; )                                                              \
        {                                                                       \
            RTMARK_BEGIN( "plan.job." #number );                                \
            prvJob( pxTask );                                                   \
            RTMARK_END( "plan.job." #number );                                  \
            prvWait( pxTask, &xLastWakeTime );                                  \
        }                                                                       \
    }

planTASK( 0 )
planTASK( 1 )
planTASK( 2 )
planTASK( 3 )
planTASK( 4 )
planTASK( 5 )
planTASK( 6 )
planTASK( 7 )
/*-----------------------------------------------------------*/

/* Static, because the heap of 4096 bytes has no room for so many stacks. */
static void prvSet( void )
{
    static StaticTask_t xTasks[ PLAN_TASKS ];
    static StackType_t uxStacks[ PLAN_TASKS ][ configMINIMAL_STACK_SIZE ];
    static const TaskFunction_t pxFunctions[ PLAN_TASKS ] =
    {
        vTask0, vTask1, vTask2, vTask3, vTask4, vTask5, vTask6, vTask7
    };

    for( uint32_t ulLock = 0; ulLock < PLAN_LOCKS; ulLock++ )
    {
        static StaticSemaphore_t xMutexes[ PLAN_LOCKS ];
        xLocks[ ulLock ] = xSemaphoreCreateMutexStatic( &xMutexes[ ulLock ] );
    }

    for( uint32_t ulQueue = 0; ulQueue < PLAN_QUEUES; ulQueue++ )
    {
        static StaticQueue_t xQueueStates[ PLAN_QUEUES ];
        static Message_t xMessages[ PLAN_QUEUES ][ PLAN_ITEMS ];
        const uint32_t ulItems = rtmark_plan.queue_items[ ulQueue ];

        if( ulItems > PLAN_ITEMS )
        {
            rtmark_failed( "a queue is too long" );
        }

        if( ulItems != 0u )
        {
            xQueues[ ulQueue ] = xQueueCreateStatic( ulItems, sizeof( Message_t ),
                                                     ( uint8_t * ) xMessages[ ulQueue ], &xQueueStates[ ulQueue ] );
        }
    }

    for( uint32_t ulTask = 0; ulTask < PLAN_TASKS; ulTask++ )
    {
        const uint32_t ulPriority = rtmark_plan.task[ ulTask ].priority;

        if( ulPriority >= configMAX_PRIORITIES )
        {
            rtmark_failed( "a priority is too high" );
        }

        if( ulPriority != 0u )
        {
            const uint32_t ulInterrupt = rtmark_plan.task[ ulTask ].interrupt;

            if( ulInterrupt != 0u )
            {
                static StaticSemaphore_t xSemaphores[ PLAN_INTERRUPTS ];
                xReleased[ ulInterrupt - 1u ] = xSemaphoreCreateBinaryStatic( &xSemaphores[ ulInterrupt - 1u ] );
            }

            xTaskCreateStatic( pxFunctions[ ulTask ], "task", configMINIMAL_STACK_SIZE, NULL,
                               tskIDLE_PRIORITY + ulPriority, uxStacks[ ulTask ], &xTasks[ ulTask ] );
        }
    }

    NVIC_IPR0 = planPRIORITY * 0x0101u;
    NVIC_ISER0 = 3u;
}
RTMARK_SCENARIO( "plan.set", prvSet );
