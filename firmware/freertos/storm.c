/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A task that each interrupt notifies, which counts the notifications. */
#include "bench.h"

#include "cortex_m.h"

#if defined( configMAX_SYSCALL_INTERRUPT_PRIORITY )
    /* The highest from which the kernel may be called. */
    #define stormPRIORITY    configMAX_SYSCALL_INTERRUPT_PRIORITY
#else
    #define stormPRIORITY    0
#endif

static TaskHandle_t xHandlingTask;
static volatile uint32_t ulCame;
static volatile uint32_t ulHandled;

RTMARK_BEGIN_AT_PEND( "storm.background", 16 );

void IRQ0_Handler( void )
{
    BaseType_t xHigherPriorityTaskWoken = pdFALSE;

    ulCame++;
    vTaskNotifyGiveFromISR( xHandlingTask, &xHigherPriorityTaskWoken );
    portYIELD_FROM_ISR( xHigherPriorityTaskWoken );
}

/*-----------------------------------------------------------*/
/* storm.distance */

static void vStormingTask( void * pvParameters )
{
    ( void ) pvParameters;
    NVIC_IPR0 = stormPRIORITY;
    NVIC_ISER0 = 1u;
    NVIC_ISPR0 = 1u;

    for( uint32_t ulSample = 0; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        const uint32_t ulTaken = ulTaskNotifyTake( pdFALSE, portMAX_DELAY );
        RTMARK_END( "storm.distance" );
        RTMARK_BEGIN( "storm.distance" );
        NVIC_ISPR0 = 1u;
        rtmark_expect( "notifications at once", ulTaken, 1u );
        ulHandled++;
    }

    rtmark_expect( "interrupts", ulCame, ulHandled + 1u );
    rtmark_ok();
}

static void prvDistance( void )
{
    xHandlingTask = xBenchCreateTask( vStormingTask, "storming", benchHIGH_PRIORITY );
}
RTMARK_SCENARIO( "storm.distance", prvDistance );

/*-----------------------------------------------------------*/
/* storm.background */

static void vHandlingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        ulHandled += ulTaskNotifyTake( pdFALSE, portMAX_DELAY ) != 0u;
    }
}

static void vBackgroundTask( void * pvParameters )
{
    ( void ) pvParameters;
    NVIC_IPR0 = stormPRIORITY;
    NVIC_ISER0 = 1u;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        NVIC_ISPR0 = 1u;
        /* Behind these it has come. */
        __asm__ __volatile__ ( "dsb\n\tisb" : : : "memory" );
        RTMARK_END( "storm.background" );

        rtmark_expect( "interrupts", ulCame, ulSample );
        rtmark_expect( "interrupts handled", ulHandled, ulSample );
    }

    rtmark_ok();
}

static void prvBackground( void )
{
    xHandlingTask = xBenchCreateTask( vHandlingTask, "handling", benchHIGH_PRIORITY );
    xBenchCreateTask( vBackgroundTask, "background", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "storm.background", prvBackground );
