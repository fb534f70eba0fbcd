/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Two of each object, and one more of ONE_MORE_<object>: the two images' difference is what it
 * takes. Two, because what is called from one place is compiled into it. All are created statically, so that their memory is seen; from the heap each
 * allocation takes eight bytes more.
 */
#include "bench.h"
#include "queue.h"
#include "timers.h"

#define objectsITEMS         4
#define objectsITEM_BYTES    10

static void vOneTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        vTaskSuspend( NULL );
    }
}

/* Room for the handles of both images, so that only the objects' own memory differs. */
QueueHandle_t xQueues[ 4 ];
TimerHandle_t xTimers[ 4 ];

static void vCallback( TimerHandle_t xTimer )
{
    ( void ) xTimer;
}

#define objectsTASK( number )                                                              \
    do {                                                                                   \
        static StaticTask_t xTask;                                                         \
        static StackType_t xStack[ configMINIMAL_STACK_SIZE ];                             \
                                                                                           \
        xTaskCreateStatic( vOneTask, #number, configMINIMAL_STACK_SIZE, NULL,              \
                           benchHIGH_PRIORITY, xStack, &xTask );                           \
    } while( 0 )

#define objectsQUEUE( number )                                                             \
    do {                                                                                   \
        static StaticQueue_t xQueueMemory;                                                 \
        static uint8_t ucItems[ objectsITEMS * objectsITEM_BYTES ];                        \
                                                                                           \
        xQueues[ number ] = xQueueCreateStatic( objectsITEMS, objectsITEM_BYTES, ucItems,  \
                                                &xQueueMemory );                           \
    } while( 0 )

#define objectsTIMER( number )                                                             \
    do {                                                                                   \
        static StaticTimer_t xTimerMemory;                                                 \
                                                                                           \
        xTimers[ number ] = xTimerCreateStatic( #number, 1000, pdTRUE, NULL, vCallback,    \
                                                &xTimerMemory );                           \
    } while( 0 )

static void vEndTask( void * pvParameters )
{
    ( void ) pvParameters;
    rtmark_ok();
}

static void prvAll( void )
{
    objectsTASK( 1 );
    objectsQUEUE( 1 );
    objectsTIMER( 1 );
    objectsTASK( 2 );
    objectsQUEUE( 2 );
    objectsTIMER( 2 );
#ifdef ONE_MORE_task
    objectsTASK( 3 );
#endif
#ifdef ONE_MORE_queue
    objectsQUEUE( 3 );
#endif
#ifdef ONE_MORE_timer
    objectsTIMER( 3 );
#endif
    xBenchCreateTask( vEndTask, "end", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "objects.all", prvAll );
