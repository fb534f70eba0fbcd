/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From a pending interrupt to its handler, and to the task that the handler wakes
 * by a semaphore ("deferred interrupt handling" in FreeRTOS' book).
 *
 * isr.entry, isr.wake.thread and isr.wake.semaphore are the same program; they differ in where
 * the span ends.
 */
#include "bench.h"
#include "queue.h"
#include "semphr.h"

#include "cortex_m.h"
#include "plain_handlers.h"

#if defined( configMAX_SYSCALL_INTERRUPT_PRIORITY )
    /* The highest from which the kernel may be called. */
    #define isrPRIORITY    configMAX_SYSCALL_INTERRUPT_PRIORITY
#else
    #define isrPRIORITY    0
#endif

static SemaphoreHandle_t xWork;
static volatile uint32_t ulHandled;

RTMARK_BEGIN_AT_PEND( "isr.entry", 16 );
RTMARK_END_AT_ENTRY( "isr.entry", IRQ0_Handler );
RTMARK_BEGIN_AT_PEND( "isr.entry.task", 16 );
RTMARK_END_AT_ENTRY( "isr.entry.task", IRQ0_Handler );

RTMARK_BEGIN_AT_PEND( "isr.wake.thread", 16 );
RTMARK_BEGIN_AT_PEND( "isr.wake.semaphore", 16 );

void IRQ0_Handler( void )
{
    BaseType_t xHigherPriorityTaskWoken = pdFALSE;

    xSemaphoreGiveFromISR( xWork, &xHigherPriorityTaskWoken );
    portYIELD_FROM_ISR( xHigherPriorityTaskWoken );
}
/*-----------------------------------------------------------*/

static void vHandlingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        xSemaphoreTake( xWork, portMAX_DELAY );
        RTMARK_END( "isr.wake.thread" );
        RTMARK_END( "isr.wake.semaphore" );
        ulHandled++;
    }
}
/*-----------------------------------------------------------*/

static void vInterruptedTask( void * pvParameters )
{
    ( void ) pvParameters;

    NVIC_IPR0 = isrPRIORITY;
    NVIC_ISER0 = 1u;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        NVIC_ISPR0 = 1u;

        /* The interrupt arrives while this task is busy with something of its own. */
        for( volatile uint32_t ulSpin = 0; ulSpin < 10; ulSpin++ )
        {
        }

        rtmark_expect( "interrupts handled", ulHandled, ulSample );
    }

    rtmark_ok();
}
/*-----------------------------------------------------------*/

static void prvInterrupt( void )
{
    xWork = xSemaphoreCreateBinary();

    if( xWork == NULL )
    {
        rtmark_failed( "no heap left for the semaphore" );
    }

    xBenchCreateTask( vHandlingTask, "handling", benchHIGH_PRIORITY );
    xBenchCreateTask( vInterruptedTask, "busy", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "isr.entry", prvInterrupt );
RTMARK_SCENARIO( "isr.entry.task", prvInterrupt );
RTMARK_SCENARIO( "isr.wake.thread", prvInterrupt );
RTMARK_SCENARIO( "isr.wake.semaphore", prvInterrupt );

/*-----------------------------------------------------------*/
/* isr.wake.notify: the handler notifies the task directly. */

static TaskHandle_t xNotifiedTask;

RTMARK_BEGIN_AT_PEND( "isr.wake.notify", 23 );

void IRQ7_Handler( void )
{
    BaseType_t xHigherPriorityTaskWoken = pdFALSE;

    vTaskNotifyGiveFromISR( xNotifiedTask, &xHigherPriorityTaskWoken );
    portYIELD_FROM_ISR( xHigherPriorityTaskWoken );
}

static void vNotifiedTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        ulTaskNotifyTake( pdTRUE, portMAX_DELAY );
        RTMARK_END( "isr.wake.notify" );
        ulHandled++;
    }
}

/*-----------------------------------------------------------*/
/* isr.wake.queue: the handler sends an item. */

#define isrITEM_BYTES    10

/* At a multiple of four, as what has a word in it: two bytes of padding follow. */
typedef struct
{
    uint8_t ucBytes[ isrITEM_BYTES ];
} __attribute__( ( aligned( 4 ) ) ) Item_t;

static QueueHandle_t xItems;

RTMARK_BEGIN_AT_PEND( "isr.wake.queue", 22 );

void IRQ6_Handler( void )
{
    static const Item_t xItem = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } };
    BaseType_t xHigherPriorityTaskWoken = pdFALSE;

    xQueueSendFromISR( xItems, &xItem, &xHigherPriorityTaskWoken );
    portYIELD_FROM_ISR( xHigherPriorityTaskWoken );
}

static void vReceivingTask( void * pvParameters )
{
    ( void ) pvParameters;
    Item_t xItem = { { 0 } };

    for( ; ; )
    {
        xQueueReceive( xItems, &xItem, portMAX_DELAY );
        RTMARK_END( "isr.wake.queue" );
        rtmark_expect( "last byte of the item", xItem.ucBytes[ isrITEM_BYTES - 1 ], isrITEM_BYTES );
        ulHandled++;
    }
}

/*-----------------------------------------------------------*/

static void vPendingTask( void * pvParameters )
{
    const uint32_t ulInterrupt = ( uint32_t ) pvParameters;

    NVIC_IPR1 = isrPRIORITY * 0x01010101u;
    NVIC_ISER0 = ulInterrupt;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        NVIC_ISPR0 = ulInterrupt;

        for( volatile uint32_t ulSpin = 0; ulSpin < 10; ulSpin++ )
        {
        }

        rtmark_expect( "interrupts handled", ulHandled, ulSample );
    }

    rtmark_ok();
}

static void prvNotify( void )
{
    xNotifiedTask = xBenchCreateTask( vNotifiedTask, "notified", benchHIGH_PRIORITY );
    xTaskCreate( vPendingTask, "busy", configMINIMAL_STACK_SIZE, ( void * ) ( 1u << 7 ), benchLOW_PRIORITY, NULL );
}
RTMARK_SCENARIO( "isr.wake.notify", prvNotify );

static void prvQueue( void )
{
    xItems = xQueueCreate( 4, sizeof( Item_t ) );
    xBenchCreateTask( vReceivingTask, "receiving", benchHIGH_PRIORITY );
    xTaskCreate( vPendingTask, "busy", configMINIMAL_STACK_SIZE, ( void * ) ( 1u << 6 ), benchLOW_PRIORITY, NULL );
}
RTMARK_SCENARIO( "isr.wake.queue", prvQueue );

/*-----------------------------------------------------------*/
/* The kernel takes no part in these. */

static void vPlainTask( void * pvParameters )
{
    plain_handlers_enable( isrPRIORITY );
    plain_handlers_run( ( uint32_t ) pvParameters );
}

static void prvPlainTask( uint32_t ulInterrupt )
{
    xTaskCreate( vPlainTask, "plain", configMINIMAL_STACK_SIZE, ( void * ) ulInterrupt, benchLOW_PRIORITY, NULL );
}

static void prvPlain( void )
{
    prvPlainTask( PLAIN );
}
RTMARK_SCENARIO( "isr.round_trip", prvPlain );
RTMARK_SCENARIO( "isr.return", prvPlain );

static void prvBeside( void )
{
    prvPlainTask( BESIDE );
}
RTMARK_SCENARIO( "isr.tail_chain", prvBeside );

static void prvNested( void )
{
    prvPlainTask( BELOW );
}
RTMARK_SCENARIO( "isr.nested", prvNested );
