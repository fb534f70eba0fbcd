/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The code of the port that xtensa/portmacro.h describes. */
#include "bench.h"

#if defined( __XTENSA__ )

/* What a task that is not running has on its stack: the registers that a call keeps in the CALL0 ABI. */
enum { eReturn, eA12, eA13, eA14, eA15, ePS, eWords = 8 };

/* User vector mode, interrupts of no level masked. */
#define portFIRST_PS    0x20u

void vPortTaskEntry( void );
void vPortStartFirstTask( void ) __attribute__( ( noreturn ) );
void vPortTaskReturned( void ) __attribute__( ( used ) );

StackType_t * pxPortInitialiseStack( StackType_t * pxTopOfStack,
                                     TaskFunction_t pxCode,
                                     void * pvParameters )
{
    /* A stack pointer is a multiple of 16. */
    const uintptr_t uxTop = ( uintptr_t ) ( pxTopOfStack + 1 ) & ~( uintptr_t ) ( portBYTE_ALIGNMENT - 1 );
    StackType_t * const pxFrame = ( StackType_t * ) uxTop - eWords;

    pxFrame[ eReturn ] = ( StackType_t ) vPortTaskEntry;
    pxFrame[ eA12 ] = ( StackType_t ) pxCode;
    pxFrame[ eA13 ] = ( StackType_t ) pvParameters;
    pxFrame[ ePS ] = portFIRST_PS;

    return pxFrame;
}
/*-----------------------------------------------------------*/

BaseType_t xPortStartScheduler( void )
{
    vPortStartFirstTask();
}
/*-----------------------------------------------------------*/

void vPortEndScheduler( void )
{
    rtmark_failed( "the scheduler ended" );
}
/*-----------------------------------------------------------*/

void vPortTaskReturned( void )
{
    rtmark_failed( "a task returned" );
}
/*-----------------------------------------------------------*/

__asm__(
    ".pushsection .text.vPortYield, \"ax\", @progbits\n"
    ".literal_position\n"
    ".balign 4\n"
    ".globl vPortYield\n"
    ".type vPortYield, @function\n"
    "vPortYield:\n"
    "   addi    a1, a1, -32\n"
    "   s32i    a0, a1, 0\n"
    "   s32i    a12, a1, 4\n"
    "   s32i    a13, a1, 8\n"
    "   s32i    a14, a1, 12\n"
    "   s32i    a15, a1, 16\n"
    "   rsil    a2, " portMASKED_LEVEL "\n"
    "   s32i    a2, a1, 20\n"
    "   movi    a2, pxCurrentTCB\n"
    "   l32i    a2, a2, 0\n"
    "   s32i    a1, a2, 0\n"
    "   call0   vTaskSwitchContext\n"
    ".balign 4\n"
    ".globl vPortStartFirstTask\n"
    "vPortStartFirstTask:\n"
    "   movi    a2, pxCurrentTCB\n"
    "   l32i    a2, a2, 0\n"
    "   l32i    a1, a2, 0\n"
    "   l32i    a0, a1, 0\n"
    "   l32i    a12, a1, 4\n"
    "   l32i    a13, a1, 8\n"
    "   l32i    a14, a1, 12\n"
    "   l32i    a15, a1, 16\n"
    "   l32i    a2, a1, 20\n"
    "   wsr.ps  a2\n"
    "   rsync\n"
    "   addi    a1, a1, 32\n"
    "   ret\n"
    ".balign 4\n"
    ".globl vPortTaskEntry\n"
    "vPortTaskEntry:\n"
    "   mov     a2, a13\n"
    "   callx0  a12\n"
    "   call0   vPortTaskReturned\n"
    ".popsection\n" );

#endif
