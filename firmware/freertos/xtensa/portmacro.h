/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A port of FreeRTOS to Xtensa without register windows, for what polls: rtmark's own, because the kernel's
 * tree has one for use within ESP-IDF alone. Tasks switch where they ask for it; there are no interrupts and no tick.
 * Critical sections are the kernel's own (vTaskEnterCritical), as they are with that port on a single core.
 */
#ifndef PORTMACRO_H
#define PORTMACRO_H

#include <stdint.h>

#define portCHAR          char
#define portFLOAT         float
#define portDOUBLE        double
#define portLONG          long
#define portSHORT         short
#define portSTACK_TYPE    uint32_t
#define portBASE_TYPE     int

typedef portSTACK_TYPE StackType_t;
typedef int BaseType_t;
typedef unsigned int UBaseType_t;

#if ( configTICK_TYPE_WIDTH_IN_BITS == TICK_TYPE_WIDTH_16_BITS )
    typedef uint16_t TickType_t;
    #define portMAX_DELAY    ( TickType_t ) 0xffff
#else
    typedef uint32_t TickType_t;
    #define portMAX_DELAY              ( TickType_t ) 0xffffffffUL
    #define portTICK_TYPE_IS_ATOMIC    1
#endif

#define portSTACK_GROWTH      ( -1 )
#define portBYTE_ALIGNMENT    16
#define portTICK_PERIOD_MS    ( ( TickType_t ) 1000 / configTICK_RATE_HZ )

/* The level below which the LX106 masks interrupts as it enters an exception: all but the NMI's. */
#define portMASKED_LEVEL      "1"

static inline __attribute__( ( always_inline ) ) UBaseType_t uxPortMask( void )
{
    UBaseType_t uxBefore;

    __asm volatile ( "rsil %0, " portMASKED_LEVEL : "=a" ( uxBefore ) : : "memory" );
    return uxBefore;
}

static inline __attribute__( ( always_inline ) ) void vPortRestore( UBaseType_t uxBefore )
{
    __asm volatile ( "wsr.ps %0\n\trsync" : : "a" ( uxBefore ) : "memory" );
}

static inline __attribute__( ( always_inline ) ) void vPortUnmask( void )
{
    UBaseType_t uxBefore;

    __asm volatile ( "rsil %0, 0" : "=a" ( uxBefore ) : : "memory" );
}

#define portDISABLE_INTERRUPTS()                        ( void ) uxPortMask()
#define portENABLE_INTERRUPTS()                         vPortUnmask()
#define portSET_INTERRUPT_MASK_FROM_ISR()               uxPortMask()
#define portCLEAR_INTERRUPT_MASK_FROM_ISR( uxBefore )   vPortRestore( uxBefore )

#define portCRITICAL_NESTING_IN_TCB                     1
extern void vTaskEnterCritical( void );
extern void vTaskExitCritical( void );
#define portENTER_CRITICAL()                            vTaskEnterCritical()
#define portEXIT_CRITICAL()                             vTaskExitCritical()
/* Nothing runs in an interrupt. */
#define portASSERT_IF_IN_ISR()

void vPortYield( void );
#define portYIELD()                                     vPortYield()
#define portYIELD_FROM_ISR( xWanted )                   ( ( void ) ( xWanted ) )

#define portTASK_FUNCTION_PROTO( vFunction, pvParameters )    void vFunction( void * pvParameters )
#define portTASK_FUNCTION( vFunction, pvParameters )          void vFunction( void * pvParameters )
#define portMEMORY_BARRIER()                            __asm volatile ( "" : : : "memory" )
#define portINLINE                                      __inline

#endif /* PORTMACRO_H */
