/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Interrupts of a Hazard3 and a Cortex-R5, for the images that have any. The ports save the context of
 * the interrupted task and come here, with interrupts off; so handlers do not interrupt each other.
 */
#include "bench.h"

static void prvNobody( void )
{
    rtmark_failed( "an interrupt came that nobody handles" );
}

#define interruptUNLESS_DEFINED    __attribute__( ( weak, alias( "prvNobody" ) ) )

#if defined( __riscv )

    #define interruptHANDLERS    9

    void IRQ8_Handler( void ) interruptUNLESS_DEFINED;

#else

    #define interruptHANDLERS    10

    /* What `rtmark worst` injects. */
    static void prvInjected( void )
    {
    }

    void IRQ8_Handler( void ) __attribute__( ( weak, alias( "prvInjected" ) ) );

#endif

void IRQ0_Handler( void ) interruptUNLESS_DEFINED;
void IRQ1_Handler( void ) interruptUNLESS_DEFINED;
void IRQ2_Handler( void ) interruptUNLESS_DEFINED;
void IRQ3_Handler( void ) interruptUNLESS_DEFINED;
void IRQ4_Handler( void ) interruptUNLESS_DEFINED;
void IRQ5_Handler( void ) interruptUNLESS_DEFINED;
void IRQ6_Handler( void ) interruptUNLESS_DEFINED;
void IRQ7_Handler( void ) interruptUNLESS_DEFINED;

static void ( * const pxHandlers[ interruptHANDLERS ] )( void ) =
{
    IRQ0_Handler, IRQ1_Handler, IRQ2_Handler, IRQ3_Handler, IRQ4_Handler,
    IRQ5_Handler, IRQ6_Handler, IRQ7_Handler, IRQ8_Handler,
    #if !defined( __riscv )
        prvInjected
    #endif
};

static void prvHandle( uint32_t ulNumber )
{
    if( ulNumber >= interruptHANDLERS )
    {
        prvNobody();
    }

    pxHandlers[ ulNumber ]();
}

#if defined( __riscv )

#define interruptEXTERNAL    0x8000000Bu

void freertos_risc_v_application_interrupt_handler( uint32_t ulCause );

/* All that are pending are handled, the most urgent first, before the port goes back to a task. */
void freertos_risc_v_application_interrupt_handler( uint32_t ulCause )
{
    if( ulCause != interruptEXTERNAL )
    {
        rtmark_failed_with( "nobody handles mcause", ulCause );
    }

    for( ; ; )
    {
        int32_t lNext;

        __asm__ __volatile__ ( "csrrsi %0, 0xbe4, 1" : "=r" ( lNext ) : : "memory" ); /* meinext */

        if( lNext < 0 )
        {
            return;
        }

        prvHandle( ( uint32_t ) lNext >> 2 );
    }
}

#else

/* Those of peripherals have the numbers from 32 on. */
void vHandlePeripheral( uint32_t ulInterrupt )
{
    prvHandle( ulInterrupt - 32u );
}

#endif
