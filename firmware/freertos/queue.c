/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A queue of ten items of ten bytes. */
#include <string.h>

#include "bench.h"
#include "queue.h"

#define queueLENGTH    10

typedef struct
{
    uint8_t ucBytes[ 10 ];
} Item_t;

static QueueHandle_t xQueue;

static void prvCreateQueue( void )
{
    xQueue = xQueueCreate( queueLENGTH, sizeof( Item_t ) );

    if( xQueue == NULL )
    {
        rtmark_failed( "no heap left for the queue" );
    }
}

/* An item that no other sample has. */
static Item_t prvItem( uint32_t ulSample )
{
    Item_t xItem;

    for( uint32_t ulByte = 0; ulByte < sizeof( xItem.ucBytes ); ulByte++ )
    {
        xItem.ucBytes[ ulByte ] = ( uint8_t ) ( 3u * ulSample + ulByte );
    }

    return xItem;
}

static void prvExpectItem( const Item_t * pxItem,
                           uint32_t ulSample )
{
    const Item_t xExpected = prvItem( ulSample );

    rtmark_expect( "difference of the item received", memcmp( pxItem, &xExpected, sizeof( xExpected ) ) != 0, 0u );
}

/*-----------------------------------------------------------*/
/* queue.send.immediate: nobody waits, and there is room. */

static void vSendTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        const Item_t xSent = prvItem( ulSample );
        Item_t xReceived = { { 0 } };

        RTMARK_BEGIN( "queue.send.immediate" );
        const BaseType_t xResult = xQueueSend( xQueue, &xSent, 0 );
        RTMARK_END( "queue.send.immediate" );

        rtmark_expect( "result of the send", ( uint32_t ) xResult, pdPASS );
        rtmark_expect( "result of the receive", ( uint32_t ) xQueueReceive( xQueue, &xReceived, 0 ), pdPASS );
        prvExpectItem( &xReceived, ulSample );
    }

    rtmark_ok();
}

static void prvSend( void )
{
    prvCreateQueue();
    xBenchCreateTask( vSendTask, "send", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "queue.send.immediate", prvSend );

/*-----------------------------------------------------------*/
/* queue.receive.immediate: an item is there. */

static void vReceiveTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        const Item_t xSent = prvItem( ulSample );
        Item_t xReceived = { { 0 } };

        rtmark_expect( "result of the send", ( uint32_t ) xQueueSend( xQueue, &xSent, 0 ), pdPASS );

        RTMARK_BEGIN( "queue.receive.immediate" );
        const BaseType_t xResult = xQueueReceive( xQueue, &xReceived, portMAX_DELAY );
        RTMARK_END( "queue.receive.immediate" );

        rtmark_expect( "result of the receive", ( uint32_t ) xResult, pdPASS );
        prvExpectItem( &xReceived, ulSample );
    }

    rtmark_expect( "items left", uxQueueMessagesWaiting( xQueue ), 0u );
    rtmark_ok();
}

static void prvReceive( void )
{
    prvCreateQueue();
    xBenchCreateTask( vReceiveTask, "receive", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "queue.receive.immediate", prvReceive );

/*-----------------------------------------------------------*/
/* queue.receive.poll_empty: nobody ever sends. */

static void vPollTask( void * pvParameters )
{
    ( void ) pvParameters;
    uint32_t ulReceived = 0;

    for( uint32_t ulPoll = 0; ulPoll < RTMARK_POLLS; ulPoll++ )
    {
        Item_t xItem;

        RTMARK_BEGIN( "queue.receive.poll_empty" );
        const BaseType_t xResult = xQueueReceive( xQueue, &xItem, 0 );
        RTMARK_END( "queue.receive.poll_empty" );

        if( xResult == pdPASS )
        {
            ulReceived++;
        }
    }

    rtmark_expect( "items received from an empty queue", ulReceived, 0u );
    rtmark_ok();
}

static void prvPoll( void )
{
    prvCreateQueue();
    xBenchCreateTask( vPollTask, "poll", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "queue.receive.poll_empty", prvPoll );
