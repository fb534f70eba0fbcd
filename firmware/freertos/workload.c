/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One computation in three surroundings: alone, with a yield for each step and
 * nobody to yield to, and with another task that takes every yield.
 */
#include "bench.h"

#include "prime_search.h"

static struct prime_search xSearch;
static volatile uint32_t ulCounter;

static void prvGoOn( void )
{
}

static void prvYield( void )
{
    taskYIELD();
}

/*-----------------------------------------------------------*/

static void vSingleTask( void * pvParameters )
{
    ( void ) pvParameters;

    RTMARK_BEGIN( "workload.prime.single" );
    prime_search( &xSearch, prvGoOn );
    RTMARK_END( "workload.prime.single" );

    prime_search_check( &xSearch );
    rtmark_ok();
}

static void prvSingle( void )
{
    xBenchCreateTask( vSingleTask, "search", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "workload.prime.single", prvSingle );

/*-----------------------------------------------------------*/

static void vOneTask( void * pvParameters )
{
    ( void ) pvParameters;

    RTMARK_BEGIN( "workload.prime.one_task" );
    prime_search( &xSearch, prvYield );
    RTMARK_END( "workload.prime.one_task" );

    prime_search_check( &xSearch );
    rtmark_ok();
}

static void prvOneTask( void )
{
    xBenchCreateTask( vOneTask, "search", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "workload.prime.one_task", prvOneTask );

/*-----------------------------------------------------------*/

static void vCounterTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( ; ; )
    {
        ulCounter++;
        taskYIELD();
    }
}

static void vSearchTask( void * pvParameters )
{
    ( void ) pvParameters;

    RTMARK_BEGIN( "workload.prime.two_tasks" );
    prime_search( &xSearch, prvYield );
    RTMARK_END( "workload.prime.two_tasks" );

    /* A tick hands over as well, with time slicing. Depending on which of the tasks it
     * interrupts, the counter gets an increment more or one less than there were
     * yields; so the counter depends on the clock, but only by so much. */
    const uint32_t ulCounted = ulCounter;
    const uint32_t ulTicks = xTaskGetTickCount();

    if( ( ulCounted + ulTicks < PRIME_SEARCH_DIVISIONS ) || ( ulCounted > PRIME_SEARCH_DIVISIONS + ulTicks ) )
    {
        rtmark_expect( "counter", ulCounted, PRIME_SEARCH_DIVISIONS );
    }

    prime_search_check( &xSearch );
    rtmark_fact( "~counter", ulCounted );
    rtmark_ok();
}

static void prvTwoTasks( void )
{
    xBenchCreateTask( vSearchTask, "search", benchLOW_PRIORITY );
    xBenchCreateTask( vCounterTask, "counter", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "workload.prime.two_tasks", prvTwoTasks );
