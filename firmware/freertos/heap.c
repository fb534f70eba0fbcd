/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* heap_4 and heap_5: first fit, neighbours that are free are joined. */
#include "bench.h"
#include "heap_pattern.h"

#define heapSIZED( size )                                                       \
    static void vSized##size##Task( void * pvParameters )                       \
    {                                                                           \
        ( void ) pvParameters;                                                  \
                                                                                \
        for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )     \
        {                                                                       \
            const size_t xBefore = xPortGetFreeHeapSize();                      \
                                                                                \
            RTMARK_BEGIN( "heap.malloc." #size "b" );                           \
            void * const pvBlock = pvPortMalloc( size );                        \
            RTMARK_END( "heap.malloc." #size "b" );                             \
                                                                                \
            rtmark_expect( "block given", pvBlock != NULL, 1u );                \
                                                                                \
            RTMARK_BEGIN( "heap.free." #size "b" );                             \
            vPortFree( pvBlock );                                               \
            RTMARK_END( "heap.free." #size "b" );                               \
                                                                                \
            rtmark_expect( "bytes free", xPortGetFreeHeapSize(), xBefore );     \
        }                                                                       \
                                                                                \
        rtmark_ok();                                                            \
    }                                                                           \
                                                                                \
    static void prvSized##size( void )                                          \
    {                                                                           \
        xBenchCreateTask( vSized##size##Task, "sized", benchLOW_PRIORITY );     \
    }                                                                           \
    RTMARK_SCENARIO( "heap.malloc." #size "b", prvSized##size );                \
    RTMARK_SCENARIO( "heap.free." #size "b", prvSized##size )

heapSIZED( 16 );
heapSIZED( 128 );

/*-----------------------------------------------------------*/
/* heap.malloc.fragmented: sixteen holes of 24 bytes, each between blocks that are held. */

#define heapHOLES    16

static void vFragmentedTask( void * pvParameters )
{
    ( void ) pvParameters;
    static void * pvHoles[ heapHOLES ];

    for( uint32_t ulHole = 0; ulHole < heapHOLES; ulHole++ )
    {
        pvHoles[ ulHole ] = pvPortMalloc( 24 );
        rtmark_expect( "block between holes", pvPortMalloc( 24 ) != NULL, 1u );
    }

    for( uint32_t ulHole = 0; ulHole < heapHOLES; ulHole++ )
    {
        vPortFree( pvHoles[ ulHole ] );
    }

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "heap.malloc.fragmented" );
        void * const pvBlock = pvPortMalloc( 64 );
        RTMARK_END( "heap.malloc.fragmented" );

        rtmark_expect( "block behind the holes", pvBlock > pvHoles[ heapHOLES - 1 ], 1u );
        vPortFree( pvBlock );
    }

    rtmark_ok();
}

static void prvFragmented( void )
{
    xBenchCreateTask( vFragmentedTask, "fragmented", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "heap.malloc.fragmented", prvFragmented );

/*-----------------------------------------------------------*/
/* heap.pattern.malloc, heap.pattern.free */

static void vPatternTask( void * pvParameters )
{
    ( void ) pvParameters;
    PATTERN_RUN( pvPortMalloc, vPortFree );
}

static void prvPattern( void )
{
    xBenchCreateTask( vPatternTask, "pattern", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "heap.pattern.malloc", prvPattern );
RTMARK_SCENARIO( "heap.pattern.free", prvPattern );
