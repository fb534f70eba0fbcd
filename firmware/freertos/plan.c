/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The task set of plan.h: periodic tasks, and mutexes between them. */
#include "bench.h"
#include "semphr.h"

#include "plan.h"

static SemaphoreHandle_t xLocks[ PLAN_LOCKS ];

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

static void __attribute__( ( noinline ) ) prvJob( const volatile struct plan_task * pxTask )
{
    const uint32_t ulStretches = pxTask->stretches;

    for( uint32_t ulStretch = 0; ulStretch < ulStretches; ulStretch++ )
    {
        const uint32_t ulLock = pxTask->stretch[ ulStretch ].lock;

        if( ulLock == 0u )
        {
            plan_burn( pxTask->stretch[ ulStretch ].rounds );
        }
        else
        {
            RTMARK_BEGIN( "plan.take" );
            xSemaphoreTake( xLocks[ ulLock - 1u ], portMAX_DELAY );
            RTMARK_END( "plan.take" );
            plan_burn( pxTask->stretch[ ulStretch ].rounds );
            RTMARK_BEGIN( "plan.give" );
            xSemaphoreGive( xLocks[ ulLock - 1u ] );
            RTMARK_END( "plan.give" );
        }
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
        xTaskDelayUntil( &xLastWakeTime, PLAN_START + pxTask->offset );         \
                                                                                \
        for( ; ; )                                                              \
        {                                                                       \
            RTMARK_BEGIN( "plan.job." #number );                                \
            prvJob( pxTask );                                                   \
            RTMARK_END( "plan.job." #number );                                  \
            xTaskDelayUntil( &xLastWakeTime, pxTask->period );                  \
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

    for( uint32_t ulTask = 0; ulTask < PLAN_TASKS; ulTask++ )
    {
        const uint32_t ulPriority = rtmark_plan.task[ ulTask ].priority;

        if( ulPriority >= configMAX_PRIORITIES )
        {
            rtmark_failed( "a priority is too high" );
        }

        if( ulPriority != 0u )
        {
            xTaskCreateStatic( pxFunctions[ ulTask ], "task", configMINIMAL_STACK_SIZE, NULL,
                               tskIDLE_PRIORITY + ulPriority, uxStacks[ ulTask ], &xTasks[ ulTask ] );
        }
    }
}
RTMARK_SCENARIO( "plan.set", prvSet );
