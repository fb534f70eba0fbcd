/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From a pending interrupt to its handler, and to the task that the handler wakes
 * by a semaphore ("deferred interrupt handling" in FreeRTOS' book).
 *
 * Both scenarios are the same program; they differ in where the span ends.
 */
#include "bench.h"
#include "semphr.h"

#include "cortex_m.h"

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

RTMARK_BEGIN_AT_PEND( "isr.wake.thread", 16 );

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
RTMARK_SCENARIO( "isr.wake.thread", prvInterrupt );
