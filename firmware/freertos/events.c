/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An event group: polled while nobody sets a bit, and waited for. */
#include "bench.h"
#include "event_groups.h"

/* A group is as wide as the tick is said to be, and its uppermost byte is the kernel's. */
#if ( configTICK_TYPE_WIDTH_IN_BITS == TICK_TYPE_WIDTH_16_BITS )
    #define eventsUSABLE_BITS    8u
#else
    #define eventsUSABLE_BITS    24u
#endif
#define eventsALL_BITS       ( ( EventBits_t ) ( ( ( EventBits_t ) 1 << eventsUSABLE_BITS ) - 1u ) )

static EventGroupHandle_t xEvents;

static void prvCreateEvents( void )
{
    xEvents = xEventGroupCreate();

    if( xEvents == NULL )
    {
        rtmark_failed( "no heap left for the event group" );
    }
}

/* The group works: a bit that is set is seen, once it is cleared it is not. */
static void prvCheckEvents( void )
{
    const EventBits_t xBit = ( EventBits_t ) 1 << 7;

    xEventGroupSetBits( xEvents, xBit );
    rtmark_expect( "bits after setting one", xEventGroupGetBits( xEvents ), xBit );
    xEventGroupClearBits( xEvents, eventsALL_BITS );
    rtmark_expect( "bits after clearing", xEventGroupGetBits( xEvents ), 0u );
}

/* How many bits can be set, are waited for, and come back. */
static uint32_t prvUsableBits( void )
{
    uint32_t ulUsable = 0;

    for( uint32_t ulBit = 0; ulBit < eventsUSABLE_BITS; ulBit++ )
    {
        const EventBits_t xBit = ( EventBits_t ) ( ( EventBits_t ) 1 << ulBit );

        xEventGroupSetBits( xEvents, xBit );
        ulUsable += ( xEventGroupWaitBits( xEvents, xBit, pdTRUE, pdTRUE, 0 ) == xBit ) ? 1u : 0u;
        rtmark_expect( "bits after waiting", xEventGroupGetBits( xEvents ), 0u );
    }

    return ulUsable;
}

/*-----------------------------------------------------------*/
/* events.wait.poll_empty: wait for any bit, but not longer than no time at all. */

static void vWaitTask( void * pvParameters )
{
    ( void ) pvParameters;
    EventBits_t xSeen = 0;

    prvCheckEvents();

    for( uint32_t ulPoll = 0; ulPoll < RTMARK_POLLS; ulPoll++ )
    {
        RTMARK_BEGIN( "events.wait.poll_empty" );
        const EventBits_t xBits = xEventGroupWaitBits( xEvents, eventsALL_BITS, pdTRUE, pdFALSE, 0 );
        RTMARK_END( "events.wait.poll_empty" );

        xSeen |= xBits;
    }

    rtmark_expect( "bits seen", xSeen, 0u );
    rtmark_fact( "usable_bits", prvUsableBits() );
    rtmark_ok();
}

static void prvWait( void )
{
    prvCreateEvents();
    xBenchCreateTask( vWaitTask, "wait", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "events.wait.poll_empty", prvWait );

/*-----------------------------------------------------------*/
/* events.get.poll: read the bits, and test them in the program. */

static void vGetTask( void * pvParameters )
{
    ( void ) pvParameters;

    prvCheckEvents();

    for( uint32_t ulPoll = 0; ulPoll < RTMARK_POLLS; ulPoll++ )
    {
        RTMARK_BEGIN( "events.get.poll" );

        if( ( xEventGroupGetBits( xEvents ) & eventsALL_BITS ) != 0 )
        {
            rtmark_failed( "a bit is set that nobody set" );
        }

        RTMARK_END( "events.get.poll" );
    }

    rtmark_ok();
}

static void prvGet( void )
{
    prvCreateEvents();
    xBenchCreateTask( vGetTask, "get", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "events.get.poll", prvGet );

/*-----------------------------------------------------------*/
/* events.post.immediate, events.wait.immediate: nobody waits; a bit is set. */

static void vImmediateTask( void * pvParameters )
{
    const EventBits_t xBit = ( EventBits_t ) 1 << 3;

    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "events.post.immediate" );
        xEventGroupSetBits( xEvents, xBit );
        RTMARK_END( "events.post.immediate" );

        RTMARK_BEGIN( "events.wait.immediate" );
        const EventBits_t xBits = xEventGroupWaitBits( xEvents, eventsALL_BITS, pdTRUE, pdFALSE, portMAX_DELAY );
        RTMARK_END( "events.wait.immediate" );

        rtmark_expect( "bits seen", xBits, xBit );
        rtmark_expect( "bits left", xEventGroupGetBits( xEvents ), 0u );
    }

    rtmark_ok();
}

static void prvImmediate( void )
{
    prvCreateEvents();
    xBenchCreateTask( vImmediateTask, "immediate", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "events.post.immediate", prvImmediate );
RTMARK_SCENARIO( "events.wait.immediate", prvImmediate );

/*-----------------------------------------------------------*/
/* events.post.wake_any, events.post.wake_all, events.wait.blocking: a task of higher
 * priority waits for one or for both of two bits. */

#define eventsFIRST_BIT     ( ( EventBits_t ) 1 << 0 )
#define eventsSECOND_BIT    ( ( EventBits_t ) 1 << 1 )

static BaseType_t xForAll;
static volatile uint32_t ulTimes;

static void prvWaitForBits( void )
{
    xEventGroupWaitBits( xEvents, eventsFIRST_BIT | eventsSECOND_BIT, pdTRUE, xForAll, portMAX_DELAY );
}

static void vWaitingTask( void * pvParameters )
{
    ( void ) pvParameters;

    /* The first time, nobody has set a bit yet. */
    prvWaitForBits();

    for( ; ; )
    {
        RTMARK_END( "events.post.wake_any" );
        RTMARK_END( "events.post.wake_all" );
        ulTimes++;
        RTMARK_BEGIN( "events.wait.blocking" );
        prvWaitForBits();
    }
}

static void vPostingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        if( xForAll )
        {
            xEventGroupSetBits( xEvents, eventsFIRST_BIT );
            rtmark_expect( "times the other task ran", ulTimes, ulSample - 1u );
        }

        RTMARK_BEGIN( "events.post.wake_any" );
        RTMARK_BEGIN( "events.post.wake_all" );
        xEventGroupSetBits( xEvents, eventsSECOND_BIT );
        RTMARK_END( "events.wait.blocking" );

        rtmark_expect( "times the other task ran", ulTimes, ulSample );
    }

    rtmark_ok();
}

static void prvWakeAny( void )
{
    prvCreateEvents();
    xBenchCreateTask( vWaitingTask, "waiting", benchHIGH_PRIORITY );
    xBenchCreateTask( vPostingTask, "posting", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "events.post.wake_any", prvWakeAny );
RTMARK_SCENARIO( "events.wait.blocking", prvWakeAny );

static void prvWakeAll( void )
{
    xForAll = pdTRUE;
    prvWakeAny();
}
RTMARK_SCENARIO( "events.post.wake_all", prvWakeAll );
