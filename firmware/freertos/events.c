/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Polling an event group in which nobody ever sets a bit. */
#include "bench.h"
#include "event_groups.h"

/* With a tick of 32 bits, 24 bits of a group are the application's. */
#define eventsALL_BITS    ( ( EventBits_t ) 0x00FFFFFF )

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
