/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the images of FreeRTOS share. */
#ifndef BENCH_H
#define BENCH_H

#include "FreeRTOS.h"
#include "task.h"

#include "core.h"
#include "rtmark_firmware.h"

/* Above the idle task, below the timer task, which sleeps all the time. */
#define benchLOW_PRIORITY     ( tskIDLE_PRIORITY + 1 )
#define benchHIGH_PRIORITY    ( tskIDLE_PRIORITY + 2 )

/* The exception that is the tick. */
#define benchTICK    CORE_TICK

/* Gives the heap its memory, where the heap is one that has to be told. */
void vBenchDefineHeap( void );

/* Creates a task with the smallest stack, without parameter. */
TaskHandle_t xBenchCreateTask( TaskFunction_t pxTaskCode,
                               const char * pcName,
                               UBaseType_t uxPriority );

#endif /* BENCH_H */
