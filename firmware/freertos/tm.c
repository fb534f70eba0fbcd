/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Thread-Metric's eight tests. */
#include "bench.h"
#include "queue.h"
#include "semphr.h"

#include "cortex_m.h"
#include "tm_basic.h"

#define tmTHREADS    5

#if defined( configMAX_SYSCALL_INTERRUPT_PRIORITY )
    #define tmPRIORITY    configMAX_SYSCALL_INTERRUPT_PRIORITY
#else
    #define tmPRIORITY    0
#endif

static volatile uint32_t ulCounters[ tmTHREADS ];
static TaskHandle_t xTasks[ tmTHREADS ];
static SemaphoreHandle_t xSemaphore;

static void prvCreate( TaskFunction_t pxCode,
                       uint32_t ulNumber,
                       UBaseType_t uxPriority )
{
    if( xTaskCreate( pxCode, "tm", configMINIMAL_STACK_SIZE, ( void * ) ( uintptr_t ) ulNumber, uxPriority, &xTasks[ ulNumber ] ) != pdPASS )
    {
        rtmark_failed( "no heap left for a task" );
    }
}

/*-----------------------------------------------------------*/

static void vBasicTask( void * pvParameters )
{
    ( void ) pvParameters;
    tm_basic_run();
}

static void prvBasic( void )
{
    prvCreate( vBasicTask, 0, benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "tm.basic", prvBasic );

/*-----------------------------------------------------------*/

static void vCooperativeTask( void * pvParameters )
{
    const uint32_t ulNumber = ( uint32_t ) ( uintptr_t ) pvParameters;

    for( ; ; )
    {
        taskYIELD();
        ulCounters[ ulNumber ]++;
    }
}

static void vFirstCooperativeTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        RTMARK_END( "tm.cooperative" );
        RTMARK_BEGIN( "tm.cooperative" );

        if( ulCounters[ 0 ]++ > 2u * RTMARK_SAMPLES )
        {
            /* A tick hands over as well; so one task may be a round ahead. */
            for( uint32_t ulTask = 1; ulTask < tmTHREADS; ulTask++ )
            {
                if( ulCounters[ ulTask ] + xTaskGetTickCount() + 1u < 2u * RTMARK_SAMPLES )
                {
                    rtmark_failed_with( "rounds of a task", ulCounters[ ulTask ] );
                }
            }

            rtmark_ok();
        }

        taskYIELD();
        ulCounters[ 0 ]++;
        taskYIELD();
    }
}

static void prvCooperative( void )
{
    prvCreate( vFirstCooperativeTask, 0, benchLOW_PRIORITY );

    for( uint32_t ulTask = 1; ulTask < tmTHREADS; ulTask++ )
    {
        prvCreate( vCooperativeTask, ulTask, benchLOW_PRIORITY );
    }
}
RTMARK_SCENARIO( "tm.cooperative", prvCooperative );

/*-----------------------------------------------------------*/

static void vPreemptiveTask( void * pvParameters )
{
    const uint32_t ulNumber = ( uint32_t ) ( uintptr_t ) pvParameters;

    for( ; ; )
    {
        vTaskSuspend( NULL );

        if( ulNumber + 1 < tmTHREADS )
        {
            vTaskResume( xTasks[ ulNumber + 1 ] );
        }

        ulCounters[ ulNumber ]++;
    }
}

static void vLowestTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "tm.preemptive" );
        vTaskResume( xTasks[ 1 ] );
        RTMARK_END( "tm.preemptive" );

        for( uint32_t ulTask = 1; ulTask < tmTHREADS; ulTask++ )
        {
            rtmark_expect( "rounds of a task", ulCounters[ ulTask ], ulSample );
        }
    }

    rtmark_ok();
}

static void prvPreemptive( void )
{
    /* The idle task's priority is free for the lowest: it never waits. */
    prvCreate( vLowestTask, 0, tskIDLE_PRIORITY );

    for( uint32_t ulTask = 1; ulTask < tmTHREADS; ulTask++ )
    {
        prvCreate( vPreemptiveTask, ulTask, tskIDLE_PRIORITY + ulTask );
    }
}
RTMARK_SCENARIO( "tm.preemptive", prvPreemptive );

/*-----------------------------------------------------------*/

void IRQ0_Handler( void );
void IRQ1_Handler( void );

void IRQ1_Handler( void )
{
    xSemaphoreGiveFromISR( xSemaphore, NULL );
}

static void vInterruptTask( void * pvParameters )
{
    ( void ) pvParameters;
    NVIC_IPR0 = tmPRIORITY * 0x0101u;
    NVIC_ISER0 = 1u << 1;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "tm.interrupt" );
        NVIC_ISPR0 = 1u << 1;
        const BaseType_t xTaken = xSemaphoreTake( xSemaphore, portMAX_DELAY );
        RTMARK_END( "tm.interrupt" );

        rtmark_expect( "result of the take", ( uint32_t ) xTaken, pdTRUE );
    }

    rtmark_ok();
}

static void prvInterrupt( void )
{
    xSemaphore = xSemaphoreCreateBinary();
    prvCreate( vInterruptTask, 0, benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "tm.interrupt", prvInterrupt );

/*-----------------------------------------------------------*/

void IRQ0_Handler( void )
{
    portYIELD_FROM_ISR( xTaskResumeFromISR( xTasks[ 1 ] ) );
}

static void vResumedTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        vTaskSuspend( NULL );
        ulCounters[ 1 ]++;
    }
}

static void vPreemptedTask( void * pvParameters )
{
    ( void ) pvParameters;
    NVIC_IPR0 = tmPRIORITY * 0x0101u;
    NVIC_ISER0 = 1u;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "tm.interrupt_preempt" );
        NVIC_ISPR0 = 1u;

        while( ulCounters[ 1 ] != ulSample )
        {
        }

        RTMARK_END( "tm.interrupt_preempt" );
        rtmark_expect( "times the other task ran", ulCounters[ 1 ], ulSample );
    }

    rtmark_ok();
}

static void prvInterruptPreempt( void )
{
    prvCreate( vResumedTask, 1, benchHIGH_PRIORITY );
    prvCreate( vPreemptedTask, 0, benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "tm.interrupt_preempt", prvInterruptPreempt );

/*-----------------------------------------------------------*/

#define tmITEM_WORDS    4

static void vMessageTask( void * pvParameters )
{
    const QueueHandle_t xQueue = xQueueCreate( 10, tmITEM_WORDS * sizeof( uint32_t ) );

    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        const uint32_t ulSent[ tmITEM_WORDS ] = { ulSample, 1, 2, 3 };
        uint32_t ulReceived[ tmITEM_WORDS ] = { 0 };

        RTMARK_BEGIN( "tm.message" );
        xQueueSend( xQueue, ulSent, portMAX_DELAY );
        xQueueReceive( xQueue, ulReceived, portMAX_DELAY );
        RTMARK_END( "tm.message" );

        rtmark_expect( "first word of the item", ulReceived[ 0 ], ulSample );
        rtmark_expect( "last word of the item", ulReceived[ tmITEM_WORDS - 1 ], 3u );
    }

    rtmark_ok();
}

static void prvMessage( void )
{
    prvCreate( vMessageTask, 0, benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "tm.message", prvMessage );

/*-----------------------------------------------------------*/

static void vSyncTask( void * pvParameters )
{
    ( void ) pvParameters;
    xSemaphoreGive( xSemaphore );

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "tm.sync" );
        const BaseType_t xTaken = xSemaphoreTake( xSemaphore, portMAX_DELAY );
        const BaseType_t xGiven = xSemaphoreGive( xSemaphore );
        RTMARK_END( "tm.sync" );

        rtmark_expect( "result of the take", ( uint32_t ) xTaken, pdTRUE );
        rtmark_expect( "result of the give", ( uint32_t ) xGiven, pdTRUE );
    }

    rtmark_ok();
}

static void prvSync( void )
{
    xSemaphore = xSemaphoreCreateBinary();
    prvCreate( vSyncTask, 0, benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "tm.sync", prvSync );

/*-----------------------------------------------------------*/

static void vMemoryTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "tm.memory" );
        void * const pvBlock = pvPortMalloc( 128 );
        vPortFree( pvBlock );
        RTMARK_END( "tm.memory" );

        rtmark_expect( "block given", pvBlock != NULL, 1u );
    }

    rtmark_ok();
}

static void prvMemory( void )
{
    prvCreate( vMemoryTask, 0, benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "tm.memory", prvMemory );
