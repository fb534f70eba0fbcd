/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Switching between tasks: between equals by yielding, and upwards by resuming. */
#include "bench.h"

/* The one that looks, the idle task and the timer task. */
#define threadTASKS_WITHOUT_IT    3u

static volatile uint32_t ulSwitches;
static TickType_t xStartTick;
static TaskHandle_t xHighTask;

/*-----------------------------------------------------------*/
/* thread.yield: two tasks of the same priority yield to each other. Each yield is
 * a sample: it begins in one task and ends in the other. */

/* With time slicing a tick hands over as well, and then two tasks would return from a yield of which
 * only one switched. So the first task pauses, until right after a tick, as often as a tick
 * would come between samples; at most clocks and tick rates that is at the start only. */
#define threadYIELD_CYCLES    300u
#define threadPER_TICK        ( RTMARK_CLOCK_HZ / configTICK_RATE_HZ / threadYIELD_CYCLES )

/* The first task is the one that is reached by even switches. */
#define threadBETWEEN_PAUSES  ( threadPER_TICK < 2u ? 2u : threadPER_TICK & ~1u )

static void prvCheckTick( void )
{
    if( xTaskGetTickCount() != xStartTick )
    {
        rtmark_failed( "a tick came between the samples: this soc's clock is too slow for them" );
    }
}

static void prvFinishYielding( void )
{
    prvCheckTick();
    rtmark_ok();
}

static void prvPause( TaskHandle_t xOther )
{
    vTaskSuspend( xOther );
    vTaskDelay( 1 );
    xStartTick = xTaskGetTickCount();
    vTaskResume( xOther );
}

static void vSecondYieldTask( void * pvParameters )
{
    ( void ) pvParameters;

    ulSwitches++;

    for( ; ; )
    {
        if( ulSwitches == RTMARK_SAMPLES )
        {
            prvFinishYielding();
        }

        /* This task is the one that is reached by odd switches. */
        rtmark_expect( "turn", ulSwitches % 2u, 1u );

        RTMARK_BEGIN( "thread.yield" );
        taskYIELD();
        RTMARK_END( "thread.yield" );
        ulSwitches++;
    }
}

/* The first switch to this task does not return from a yield: it starts the task. */
RTMARK_END_AT_ENTRY( "thread.yield", vSecondYieldTask );

static void vFirstYieldTask( void * pvParameters )
{
    ( void ) pvParameters;

    const TaskHandle_t xSecondTask = xBenchCreateTask( vSecondYieldTask, "second", benchLOW_PRIORITY );
    uint32_t ulNextPause = threadBETWEEN_PAUSES;

    prvPause( xSecondTask );

    for( ; ; )
    {
        if( ulSwitches == RTMARK_SAMPLES )
        {
            prvFinishYielding();
        }

        rtmark_expect( "turn", ulSwitches % 2u, 0u );

        if( ulSwitches == ulNextPause )
        {
            prvCheckTick();
            prvPause( xSecondTask );
            ulNextPause += threadBETWEEN_PAUSES;
        }

        RTMARK_BEGIN( "thread.yield" );
        taskYIELD();
        RTMARK_END( "thread.yield" );
        ulSwitches++;
    }
}

static void prvYield( void )
{
    xBenchCreateTask( vFirstYieldTask, "first", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "thread.yield", prvYield );

/*-----------------------------------------------------------*/
/* thread.resume.preempt: a task resumes a suspended one of higher priority, which
 * runs at once. */

static void vSuspendedTask( void * pvParameters )
{
    ( void ) pvParameters;

    /* The first time, nobody has resumed this task yet. */
    vTaskSuspend( NULL );

    for( ; ; )
    {
        RTMARK_END( "thread.resume.preempt" );
        ulSwitches++;
        RTMARK_BEGIN( "thread.suspend" );
        vTaskSuspend( NULL );
    }
}

static void vResumingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "thread.resume.preempt" );
        vTaskResume( xHighTask );
        RTMARK_END( "thread.suspend" );

        rtmark_expect( "times the task was resumed", ulSwitches, ulSample );
    }

    rtmark_ok();
}

static void prvResume( void )
{
    xHighTask = xBenchCreateTask( vSuspendedTask, "high", benchHIGH_PRIORITY );
    xBenchCreateTask( vResumingTask, "low", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "thread.resume.preempt", prvResume );
RTMARK_SCENARIO( "thread.suspend", prvResume );

/*-----------------------------------------------------------*/
/* thread.yield.alone: nobody else is ready. */

static void vAloneTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "thread.yield.alone" );
        taskYIELD();
        RTMARK_END( "thread.yield.alone" );
        ulSwitches++;
    }

    rtmark_expect( "yields", ulSwitches, RTMARK_SAMPLES );
    rtmark_ok();
}

static void prvAlone( void )
{
    xBenchCreateTask( vAloneTask, "alone", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "thread.yield.alone", prvAlone );

/*-----------------------------------------------------------*/
/* A task of high priority does things to another one that stays ready below it, and
 * never runs. */

static void vNeverRunTask( void * pvParameters )
{
    ( void ) pvParameters;
    rtmark_failed( "a task ran that was never to run" );
}

static void vDirectingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        TaskHandle_t xTask = NULL;

        RTMARK_BEGIN( "thread.create" );
        const BaseType_t xCreated = xTaskCreate( vNeverRunTask, "task", configMINIMAL_STACK_SIZE,
                                                 NULL, benchLOW_PRIORITY, &xTask );
        RTMARK_END( "thread.create" );

        rtmark_expect( "result of the creation", ( uint32_t ) xCreated, pdPASS );

        vTaskSuspend( xTask );
        RTMARK_BEGIN( "thread.resume.immediate" );
        vTaskResume( xTask );
        RTMARK_END( "thread.resume.immediate" );

        RTMARK_BEGIN( "thread.priority.set" );
        vTaskPrioritySet( xTask, benchHIGH_PRIORITY );
        RTMARK_END( "thread.priority.set" );

        rtmark_expect( "priority", uxTaskPriorityGet( xTask ), benchHIGH_PRIORITY );
        vTaskPrioritySet( xTask, benchLOW_PRIORITY );

        RTMARK_BEGIN( "thread.abort" );
        vTaskDelete( xTask );
        RTMARK_END( "thread.abort" );
    }

    rtmark_ok();
}

static void prvDirect( void )
{
    xBenchCreateTask( vDirectingTask, "directing", benchHIGH_PRIORITY + 1 );
}
RTMARK_SCENARIO( "thread.create", prvDirect );
RTMARK_SCENARIO( "thread.resume.immediate", prvDirect );
RTMARK_SCENARIO( "thread.priority.set", prvDirect );
RTMARK_SCENARIO( "thread.abort", prvDirect );

/*-----------------------------------------------------------*/
/* The same with memory of the program's own. */

static StaticTask_t xTaskBuffer;
static StackType_t uxStackBuffer[ configMINIMAL_STACK_SIZE ];

static void vDirectingStaticTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 0; ulSample < RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "thread.create.static" );
        const TaskHandle_t xTask = xTaskCreateStatic( vNeverRunTask, "task", configMINIMAL_STACK_SIZE, NULL,
                                                      benchLOW_PRIORITY, uxStackBuffer, &xTaskBuffer );
        RTMARK_END( "thread.create.static" );

        rtmark_expect( "result of the creation", xTask != NULL, 1u );

        RTMARK_BEGIN( "thread.abort.static" );
        vTaskDelete( xTask );
        RTMARK_END( "thread.abort.static" );

        rtmark_expect( "tasks", uxTaskGetNumberOfTasks(), threadTASKS_WITHOUT_IT );
    }

    rtmark_ok();
}

static void prvDirectStatic( void )
{
    xBenchCreateTask( vDirectingStaticTask, "directing", benchHIGH_PRIORITY + 1 );
}
RTMARK_SCENARIO( "thread.create.static", prvDirectStatic );
RTMARK_SCENARIO( "thread.abort.static", prvDirectStatic );

/*-----------------------------------------------------------*/
/* thread.start, thread.end: a task of higher priority begins, and deletes itself. */

static void vStartedTask( void * pvParameters )
{
    ( void ) pvParameters;
    ulSwitches++;
    RTMARK_BEGIN( "thread.end" );
    vTaskDelete( NULL );
}
RTMARK_END_AT_ENTRY( "thread.start", vStartedTask );
RTMARK_END_AT_ENTRY( "thread.start.static", vStartedTask );

static void vStartingTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "thread.start" );
        xTaskCreate( vStartedTask, "started", configMINIMAL_STACK_SIZE, NULL, benchHIGH_PRIORITY, NULL );
        RTMARK_END( "thread.end" );

        rtmark_expect( "tasks that ran", ulSwitches, ulSample );

        /* The idle task frees the memory of one that has deleted itself. */
        vTaskDelay( 2 );
    }

    rtmark_ok();
}

static void prvStart( void )
{
    xBenchCreateTask( vStartingTask, "starting", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "thread.start", prvStart );
RTMARK_SCENARIO( "thread.end", prvStart );

static void vStartingStaticTask( void * pvParameters )
{
    ( void ) pvParameters;

    for( uint32_t ulSample = 1; ulSample <= RTMARK_SAMPLES; ulSample++ )
    {
        RTMARK_BEGIN( "thread.start.static" );
        xTaskCreateStatic( vStartedTask, "started", configMINIMAL_STACK_SIZE, NULL, benchHIGH_PRIORITY,
                           uxStackBuffer, &xTaskBuffer );

        rtmark_expect( "tasks that ran", ulSwitches, ulSample );

        /* Until the idle task has seen that it has deleted itself, its memory is in use. */
        vTaskDelay( 2 );
    }

    rtmark_ok();
}

static void prvStartStatic( void )
{
    xBenchCreateTask( vStartingStaticTask, "starting", benchLOW_PRIORITY );
}
RTMARK_SCENARIO( "thread.start.static", prvStartStatic );
