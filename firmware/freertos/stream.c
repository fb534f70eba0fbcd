/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stream buffers, and message buffers, which are stream buffers that keep lengths. */
#include <string.h>

#include "bench.h"
#include "message_buffer.h"
#include "stream_buffer.h"

#define streamBYTES         16
#define streamSIZE_BYTES    100

/* Bytes at a multiple of four. */
#define streamALIGNED       __attribute__( ( aligned( 4 ) ) )

static StreamBufferHandle_t xStream;
static MessageBufferHandle_t xMessages;
static volatile uint32_t ulTimes;

static void prvFill( uint8_t * pucBytes,
                     uint32_t ulSample )
{
    for( uint32_t ulByte = 0; ulByte < streamBYTES; ulByte++ )
    {
        pucBytes[ ulByte ] = ( uint8_t ) ( 3u * ulSample + ulByte );
    }
}

/*-----------------------------------------------------------*/

static void vStreamTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        uint8_t ucSent[ streamBYTES ] streamALIGNED;
        uint8_t ucReceived[ streamBYTES ] streamALIGNED = { 0 };

        prvFill( ucSent, ulSample );

        RTMARK_BEGIN( "stream.send.immediate" );
        const size_t xSent = xStreamBufferSend( xStream, ucSent, streamBYTES, 0 );
        RTMARK_END( "stream.send.immediate" );

        RTMARK_BEGIN( "stream.receive.immediate" );
        const size_t xReceived = xStreamBufferReceive( xStream, ucReceived, streamBYTES, portMAX_DELAY );
        RTMARK_END( "stream.receive.immediate" );

        rtmark_expect( "bytes sent", xSent, streamBYTES );
        rtmark_expect( "bytes received", xReceived, streamBYTES );
        rtmark_expect( "difference of the bytes", memcmp( ucSent, ucReceived, streamBYTES ) != 0, 0u );
    }

    rtmark_ok();
}

static void prvStream( void )
{
    xStream = xStreamBufferCreate( streamSIZE_BYTES, 1 );
    xBenchCreateTask( vStreamTask, "stream", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "stream.send.immediate", prvStream );
RTMARK_SCENARIO( "stream.receive.immediate", prvStream );

/*-----------------------------------------------------------*/

static void vReceivingTask( void * pvParameters )
{
    ( void ) pvParameters;
    uint8_t ucExpected[ streamBYTES ];
    uint8_t ucReceived[ streamBYTES ] streamALIGNED;

    /* The first time, nobody has sent anything yet. */
    xStreamBufferReceive( xStream, ucReceived, streamBYTES, portMAX_DELAY );

    for( ; ; )
    {
        RTMARK_END( "stream.send.wake+ctx" );
        ulTimes++;
        prvFill( ucExpected, ulTimes );
        rtmark_expect( "difference of the bytes", memcmp( ucExpected, ucReceived, streamBYTES ) != 0, 0u );
        RTMARK_BEGIN( "stream.receive.blocking" );
        xStreamBufferReceive( xStream, ucReceived, streamBYTES, portMAX_DELAY );
    }
}

static void vSendingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        uint8_t ucSent[ streamBYTES ] streamALIGNED;

        prvFill( ucSent, ulSample );
        RTMARK_BEGIN( "stream.send.wake+ctx" );
        xStreamBufferSend( xStream, ucSent, streamBYTES, portMAX_DELAY );
        RTMARK_END( "stream.receive.blocking" );

        rtmark_expect( "times bytes were received", ulTimes, ulSample );
    }

    rtmark_ok();
}

static void prvWake( void )
{
    xStream = xStreamBufferCreate( streamSIZE_BYTES, 1 );
    xBenchCreateTask( vReceivingTask, "receiving", benchHIGH_PRIORITY );
    xBenchCreateTask( vSendingTask, "sending", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "stream.send.wake+ctx", prvWake );
RTMARK_SCENARIO( "stream.receive.blocking", prvWake );

/*-----------------------------------------------------------*/

static void vMessageTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        uint8_t ucSent[ streamBYTES ] streamALIGNED;
        uint8_t ucReceived[ 2 * streamBYTES ] streamALIGNED = { 0 };

        prvFill( ucSent, ulSample );

        RTMARK_BEGIN( "stream.message.send" );
        const size_t xSent = xMessageBufferSend( xMessages, ucSent, streamBYTES, 0 );
        RTMARK_END( "stream.message.send" );

        RTMARK_BEGIN( "stream.message.receive" );
        const size_t xReceived = xMessageBufferReceive( xMessages, ucReceived, sizeof( ucReceived ), portMAX_DELAY );
        RTMARK_END( "stream.message.receive" );

        rtmark_expect( "bytes sent", xSent, streamBYTES );
        rtmark_expect( "bytes received", xReceived, streamBYTES );
        rtmark_expect( "difference of the bytes", memcmp( ucSent, ucReceived, streamBYTES ) != 0, 0u );
    }

    rtmark_ok();
}

static void prvMessage( void )
{
    xMessages = xMessageBufferCreate( streamSIZE_BYTES );
    xBenchCreateTask( vMessageTask, "message", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "stream.message.send", prvMessage );
RTMARK_SCENARIO( "stream.message.receive", prvMessage );
