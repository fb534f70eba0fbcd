/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * FreeRTOS as its own documents configure it: profile `documented`. Each RTMARK_SET_ macro
 * is another value that a build was asked for; kernel.toml says which there are.
 *
 * Three sources, in this order. "Demo" is the configuration of the kernel's demo
 * for this core (CORTEX_M4F_STM32F407ZG-SK for the M4F), which FreeRTOS says to
 * prefer. "Template" is examples/template_configuration in the kernel's tree.
 * "Kernel" is what the kernel or its port assumes when neither says anything.
 *
 * What matters when figures are compared, settings.c tells with every image.
 */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include "rtmark_soc.h"

/* ------------------------------------------------------------------ time */


/* Demo. The template's 100 Hz would make a tick ten times as rare as on the
 * other kernels here. */
#ifndef RTMARK_SET_TICK_HZ
    #define RTMARK_SET_TICK_HZ 1000
#endif
#define configTICK_RATE_HZ ( ( TickType_t ) RTMARK_SET_TICK_HZ )

/* Demo. The template's 64 bits do not exist in the Cortex-M0 port. */
#if defined( RTMARK_SET_TICK_BITS ) && ( RTMARK_SET_TICK_BITS == 16 )
    #define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_16_BITS
#else
    #define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#endif

/* Template: the tick never stops, so the idle task spins. */
#ifndef RTMARK_SET_TICKLESS_IDLE
    #define RTMARK_SET_TICKLESS_IDLE 0
#endif
#define configUSE_TICKLESS_IDLE RTMARK_SET_TICKLESS_IDLE

/* To sleep through ticks, the port computes with their length, which is another one in the mixed load. So the
 * clock is a variable then, as in projects that can change theirs (SystemCoreClock). */
#if RTMARK_SET_TICKLESS_IDLE
    extern const unsigned long ulBenchClock;
    #define configCPU_CLOCK_HZ ulBenchClock
#else
    #define configCPU_CLOCK_HZ ( ( unsigned long ) RTMARK_CLOCK_HZ )
#endif

/* ------------------------------------------------------------ scheduling */

/* Demo and template. */
#define configUSE_PREEMPTION 1
#define configIDLE_SHOULD_YIELD 1
#ifndef RTMARK_SET_PRIORITIES
    #define RTMARK_SET_PRIORITIES 5
#endif
#define configMAX_PRIORITIES RTMARK_SET_PRIORITIES

/* Kernel: the demos leave it out, and then it is on. It makes every tick look
 * for another ready task of the same priority. */
#ifndef RTMARK_SET_TIME_SLICING
    #define RTMARK_SET_TIME_SLICING 1
#endif
#define configUSE_TIME_SLICING RTMARK_SET_TIME_SLICING

/* Kernel: the ports that have a faster way to find the highest ready priority
 * take it when the demo leaves this out. ARM_CM0 has none, for want of CLZ. */
#if defined( RTMARK_SET_PORT_OPTIMISED_SELECTION )
    #define configUSE_PORT_OPTIMISED_TASK_SELECTION RTMARK_SET_PORT_OPTIMISED_SELECTION
#elif defined( __ARM_FEATURE_CLZ )
    #define configUSE_PORT_OPTIMISED_TASK_SELECTION 1
#else
    #define configUSE_PORT_OPTIMISED_TASK_SELECTION 0
#endif

/* ------------------------------------------------------- tasks and memory */

/* Template, all of them. The stack is counted in words. */
#define configMINIMAL_STACK_SIZE 128
#define configMAX_TASK_NAME_LEN 16
#define configTOTAL_HEAP_SIZE 4096
#define configSTACK_DEPTH_TYPE size_t
#define configMESSAGE_BUFFER_LENGTH_TYPE size_t
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#ifndef RTMARK_SET_HEAP_CLEAR
    #define RTMARK_SET_HEAP_CLEAR 1
#endif
#define configHEAP_CLEAR_MEMORY_ON_FREE RTMARK_SET_HEAP_CLEAR
#define configENABLE_HEAP_PROTECTOR 0
#define configUSE_MINI_LIST_ITEM 1
#define configTASK_NOTIFICATION_ARRAY_ENTRIES 1
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS 0
#define configQUEUE_REGISTRY_SIZE 0
#define configENABLE_BACKWARD_COMPATIBILITY 0
#define configUSE_NEWLIB_REENTRANT 0

/* ---------------------------------------------------------------- features */

/* Template. Software timers bring a task of their own, which sleeps here. */
#define configUSE_TIMERS 1
#define configTIMER_TASK_PRIORITY ( configMAX_PRIORITIES - 1 )
#define configTIMER_TASK_STACK_DEPTH configMINIMAL_STACK_SIZE
#define configTIMER_QUEUE_LENGTH 10
#define configUSE_EVENT_GROUPS 1
#define configUSE_STREAM_BUFFERS 1
#define configUSE_TASK_NOTIFICATIONS 1
#define configUSE_MUTEXES 1
#define configUSE_RECURSIVE_MUTEXES 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_QUEUE_SETS 0
#define configUSE_APPLICATION_TASK_TAG 0
#define configUSE_CO_ROUTINES 0

/* Template: no hooks, no statistics, no tracing. */
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configUSE_MALLOC_FAILED_HOOK 0
#define configUSE_DAEMON_TASK_STARTUP_HOOK 0
#define configGENERATE_RUN_TIME_STATS 0
#ifndef RTMARK_SET_TRACE
    #define RTMARK_SET_TRACE 0
#endif
#define configUSE_TRACE_FACILITY RTMARK_SET_TRACE
#define configUSE_STATS_FORMATTING_FUNCTIONS 0

/* Template: the end of the stack is compared with a pattern, four words of it,
 * each time a task is switched out. */
#ifndef RTMARK_SET_STACK_CHECK
    #define RTMARK_SET_STACK_CHECK 2
#endif
#define configCHECK_FOR_STACK_OVERFLOW RTMARK_SET_STACK_CHECK

/* Demo and template check with an assert. Both would then hang for a debugger to
 * find; here it ends the run and names the place. The condition costs the same. */
#ifndef RTMARK_SET_ASSERTS
    #define RTMARK_SET_ASSERTS 1
#endif
#if RTMARK_SET_ASSERTS
    extern void vAssertCalled( void ) __attribute__( ( noreturn ) );
    #define configASSERT( x )  \
        if( ( x ) == 0 )       \
        {                      \
            vAssertCalled();   \
        }
#endif

/* -------------------------------------------------------------- interrupts */

/* The Cortex-M0 port wants to be told, although the core here has no MPU. */
#define configENABLE_MPU 0

/* Template: at its start the scheduler checks that SVC and PendSV lead to it. It is an assert. */
#define configCHECK_HANDLER_INSTALLATION RTMARK_SET_ASSERTS

#if !defined( __ARM_ARCH_PROFILE ) || __ARM_ARCH_PROFILE != 'M'
    #include "other_cores.h"
#elif defined( __ARM_ARCH_6M__ )
    /* This port masks all interrupts, and names its handlers itself. */
#else
    /* Demo: interrupts of the levels 0 to 4 are never masked by the kernel and must
     * not call it. The level is shifted to where the chip's priority bits are. Where there are
     * all eight of them, as in models, the lowest one would not count for preemption. */
    #if RTMARK_PRIORITY_BITS > 4
        #define configPRIO_BITS 4
    #else
        #define configPRIO_BITS RTMARK_PRIORITY_BITS
    #endif
    #define configLIBRARY_LOWEST_INTERRUPT_PRIORITY ( ( 1 << configPRIO_BITS ) - 1 )
    #define configLIBRARY_MAX_SYSCALL_INTERRUPT_PRIORITY 5
    #define configKERNEL_INTERRUPT_PRIORITY \
        ( configLIBRARY_LOWEST_INTERRUPT_PRIORITY << ( 8 - configPRIO_BITS ) )
    #define configMAX_SYSCALL_INTERRUPT_PRIORITY \
        ( configLIBRARY_MAX_SYSCALL_INTERRUPT_PRIORITY << ( 8 - configPRIO_BITS ) )

    /* The Cortex-M33 port names its handlers itself, and wants to be told what is in use. Code
     * runs in the state in which the core comes out of reset. */
    #if defined( __ARM_FP )
        #define configENABLE_FPU 1
    #else
        #define configENABLE_FPU 0
    #endif
    #define configENABLE_MVE 0
    #define configENABLE_TRUSTZONE 0
    #define configRUN_FREERTOS_SECURE_ONLY 1
#endif

#if defined( __ARM_ARCH_7M__ ) || defined( __ARM_ARCH_7EM__ )
    /* Demo: the port's handlers under the names that the vector table has. */
    #define vPortSVCHandler SVC_Handler
    #define xPortPendSVHandler PendSV_Handler
    #define xPortSysTickHandler SysTick_Handler
#endif

/* ------------------------------------------------------------ optional API */

/* Template. What nobody calls, the linker leaves out. */
#define INCLUDE_vTaskPrioritySet 1
#define INCLUDE_uxTaskPriorityGet 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_vTaskDelayUntil 1
#define INCLUDE_vTaskDelay 1
#define INCLUDE_xTaskGetSchedulerState 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1
#define INCLUDE_xTaskResumeFromISR 1
#define INCLUDE_xEventGroupSetBitFromISR 1
#define INCLUDE_uxTaskGetStackHighWaterMark 0
#define INCLUDE_xTaskGetIdleTaskHandle 0
#define INCLUDE_eTaskGetState 0
#define INCLUDE_xTimerPendFunctionCall 0
#define INCLUDE_xTaskAbortDelay 0
#define INCLUDE_xTaskGetHandle 0

#endif /* FREERTOS_CONFIG_H */
