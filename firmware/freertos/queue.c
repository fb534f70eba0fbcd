/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A queue of ten items of ten bytes. */
#include <string.h>

#include "bench.h"
#include "queue.h"

#define queueLENGTH    10

/* At a multiple of four, as what has a word in it: two bytes of padding follow. */
typedef struct
{
    uint8_t ucBytes[ 10 ];
} __attribute__( ( aligned( 4 ) ) ) Item_t;

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

    rtmark_expect( "difference of the item received", memcmp( pxItem->ucBytes, xExpected.ucBytes, sizeof( xExpected.ucBytes ) ) != 0, 0u );
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

/*-----------------------------------------------------------*/
/* queue.send.poll_full */

static void prvFill( void )
{
    for( uint32_t ulItem = 0; ulItem < queueLENGTH; ulItem++ )
    {
        const Item_t xItem = prvItem( ulItem );

        rtmark_expect( "result of the send", ( uint32_t ) xQueueSend( xQueue, &xItem, 0 ), pdPASS );
    }
}

static void vFullTask( void * pvParameters )
{
    ( void ) pvParameters;
    prvFill();

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        const Item_t xItem = prvItem( ulSample );

        RTMARK_BEGIN( "queue.send.poll_full" );
        const BaseType_t xResult = xQueueSend( xQueue, &xItem, 0 );
        RTMARK_END( "queue.send.poll_full" );

        rtmark_expect( "result of the send", ( uint32_t ) xResult, errQUEUE_FULL );
    }

    rtmark_ok();
}

static void prvFull( void )
{
    prvCreateQueue();
    xBenchCreateTask( vFullTask, "full", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "queue.send.poll_full", prvFull );

/*-----------------------------------------------------------*/
/* queue.send.wake+ctx, queue.receive.blocking: a task of higher priority receives, and
 * waits for the next item. */

static volatile uint32_t ulTimes;

static void vReceivingTask( void * pvParameters )
{
    ( void ) pvParameters;
    Item_t xItem;

    /* The first time, nobody has sent anything yet. */
    xQueueReceive( xQueue, &xItem, portMAX_DELAY );

    for( ; ; )
    {
        RTMARK_END( "queue.send.wake+ctx" );
        ulTimes++;
        prvExpectItem( &xItem, ulTimes );
        RTMARK_BEGIN( "queue.receive.blocking" );
        xQueueReceive( xQueue, &xItem, portMAX_DELAY );
    }
}

static void vSendingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        const Item_t xItem = prvItem( ulSample );

        RTMARK_BEGIN( "queue.send.wake+ctx" );
        xQueueSend( xQueue, &xItem, portMAX_DELAY );
        RTMARK_END( "queue.receive.blocking" );

        rtmark_expect( "items received", ulTimes, ulSample );
    }

    rtmark_ok();
}

static void prvSendWake( void )
{
    prvCreateQueue();
    xBenchCreateTask( vReceivingTask, "receiving", benchHIGH_PRIORITY );
    xBenchCreateTask( vSendingTask, "sending", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "queue.send.wake+ctx", prvSendWake );
RTMARK_SCENARIO( "queue.receive.blocking", prvSendWake );

/*-----------------------------------------------------------*/
/* queue.receive.wake+ctx, queue.send.blocking: a task of higher priority keeps the queue
 * full, and waits for room. */

static void vCrowdingTask( void * pvParameters )
{
    ( void ) pvParameters;
    Item_t xItem = prvItem( queueLENGTH );

    prvFill();
    xQueueSend( xQueue, &xItem, portMAX_DELAY );

    for( ; ; )
    {
        RTMARK_END( "queue.receive.wake+ctx" );
        ulTimes++;
        xItem = prvItem( queueLENGTH + ulTimes );
        RTMARK_BEGIN( "queue.send.blocking" );
        xQueueSend( xQueue, &xItem, portMAX_DELAY );
    }
}

static void vRelievingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        Item_t xItem = { { 0 } };

        RTMARK_BEGIN( "queue.receive.wake+ctx" );
        xQueueReceive( xQueue, &xItem, portMAX_DELAY );
        RTMARK_END( "queue.send.blocking" );

        rtmark_expect( "items sent", ulTimes, ulSample );
        prvExpectItem( &xItem, ulSample - 1u );
    }

    rtmark_ok();
}

static void prvReceiveWake( void )
{
    prvCreateQueue();
    xBenchCreateTask( vCrowdingTask, "crowding", benchHIGH_PRIORITY );
    xBenchCreateTask( vRelievingTask, "relieving", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "queue.receive.wake+ctx", prvReceiveWake );
RTMARK_SCENARIO( "queue.send.blocking", prvReceiveWake );

/*-----------------------------------------------------------*/
/* queue.handover: two tasks of the same priority, and a queue for each way. */

static QueueHandle_t xAnswers;

static void vAnsweringTask( void * pvParameters )
{
    ( void ) pvParameters;
    Item_t xItem;

    for( ; ; )
    {
        xQueueReceive( xQueue, &xItem, portMAX_DELAY );
        RTMARK_END( "queue.handover" );
        ulTimes++;
        xQueueSend( xAnswers, &xItem, portMAX_DELAY );
    }
}

static void vAskingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        const Item_t xSent = prvItem( ulSample );
        Item_t xReceived = { { 0 } };

        RTMARK_BEGIN( "queue.handover" );
        xQueueSend( xQueue, &xSent, portMAX_DELAY );
        xQueueReceive( xAnswers, &xReceived, portMAX_DELAY );

        rtmark_expect( "items received", ulTimes, ulSample );
        prvExpectItem( &xReceived, ulSample );
    }

    rtmark_ok();
}

static void prvHandOver( void )
{
    prvCreateQueue();
    xAnswers = xQueueCreate( 1, sizeof( Item_t ) );
    xBenchCreateTask( vAnsweringTask, "answering", benchLOW_PRIORITY );
    xBenchCreateTask( vAskingTask, "asking", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "queue.handover", prvHandOver );

/*-----------------------------------------------------------*/
/* queue.send.<size>b, queue.receive.<size>b */

#define queueSIZED( size )                                                                           \
    static void vSized##size##Task( void * pvParameters )                                            \
    {                                                                                                \
        static uint8_t ucSent[ size ] __attribute__( ( aligned( 4 ) ) );                             \
        static uint8_t ucReceived[ size ] __attribute__( ( aligned( 4 ) ) );                         \
                                                                                                     \
        ( void ) pvParameters;                                                                       \
                                                                                                     \
        for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )                          \
        {                                                                                            \
            for( uint32_t ulByte = 0; ulByte < size; ulByte++ )                                      \
            {                                                                                        \
                ucSent[ ulByte ] = ( uint8_t ) ( 3u * ulSample + ulByte );                           \
            }                                                                                        \
                                                                                                     \
            RTMARK_BEGIN( "queue.send." #size "b" );                                                 \
            const BaseType_t xSent = xQueueSend( xQueue, ucSent, 0 );                                \
            RTMARK_END( "queue.send." #size "b" );                                                   \
                                                                                                     \
            RTMARK_BEGIN( "queue.receive." #size "b" );                                              \
            const BaseType_t xReceived = xQueueReceive( xQueue, ucReceived, portMAX_DELAY );         \
            RTMARK_END( "queue.receive." #size "b" );                                                \
                                                                                                     \
            rtmark_expect( "result of the send", ( uint32_t ) xSent, pdPASS );                       \
            rtmark_expect( "result of the receive", ( uint32_t ) xReceived, pdPASS );                \
            rtmark_expect( "difference of the item", memcmp( ucReceived, ucSent, size ) != 0, 0u );  \
        }                                                                                            \
                                                                                                     \
        rtmark_ok();                                                                                 \
    }                                                                                                \
                                                                                                     \
    static void prvSized##size( void )                                                               \
    {                                                                                                \
        xQueue = xQueueCreate( 4, size );                                                            \
        xBenchCreateTask( vSized##size##Task, "sized", benchLOW_PRIORITY );                          \
    }                                                                                                \
    RTMARK_SCENARIO( "queue.send." #size "b", prvSized##size );                                      \
    RTMARK_SCENARIO( "queue.receive." #size "b", prvSized##size )

queueSIZED( 4 );
queueSIZED( 16 );
queueSIZED( 64 );
queueSIZED( 256 );

/*-----------------------------------------------------------*/
/* queue.send.16b.unaligned: the item lies one byte behind a multiple of four. */

#define queueUNALIGNED_BYTES    16

static void vUnalignedTask( void * pvParameters )
{
    ( void ) pvParameters;
    static uint8_t ucBytes[ 1 + queueUNALIGNED_BYTES ] __attribute__( ( aligned( 4 ) ) );
    static uint8_t ucReceived[ queueUNALIGNED_BYTES ];
    uint8_t * const pucSent = &ucBytes[ 1 ];

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        for( uint32_t ulByte = 0; ulByte < queueUNALIGNED_BYTES; ulByte++ )
        {
            pucSent[ ulByte ] = ( uint8_t ) ( 3u * ulSample + ulByte );
        }

        RTMARK_BEGIN( "queue.send.16b.unaligned" );
        const BaseType_t xSent = xQueueSend( xQueue, pucSent, 0 );
        RTMARK_END( "queue.send.16b.unaligned" );

        rtmark_expect( "result of the send", ( uint32_t ) xSent, pdPASS );
        rtmark_expect( "result of the receive", ( uint32_t ) xQueueReceive( xQueue, ucReceived, 0 ), pdPASS );
        rtmark_expect( "difference of the item", memcmp( ucReceived, pucSent, queueUNALIGNED_BYTES ) != 0, 0u );
    }

    rtmark_ok();
}

static void prvUnaligned( void )
{
    xQueue = xQueueCreate( 4, queueUNALIGNED_BYTES );
    xBenchCreateTask( vUnalignedTask, "unaligned", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "queue.send.16b.unaligned", prvUnaligned );
