/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the ports of cores other than Cortex-M ask of an application. */
#include "bench.h"

#if !defined( __ARM_ARCH_PROFILE ) || __ARM_ARCH_PROFILE != 'M'

#if defined( __riscv )

/* The port saves the context of the interrupted task and comes here. */
void freertos_risc_v_application_exception_handler( uint32_t ulCause );

void freertos_risc_v_application_exception_handler( uint32_t ulCause )
{
    rtmark_failed_with( "nobody handles mcause", ulCause );
}

#elif defined( __aarch64__ )

/* The generic timer's interrupt of EL1, physical, on QEMU's virt. */
#define otherTIMER_INTERRUPT    30u

#define otherREGISTER( address )    ( *( volatile uint32_t * ) ( uintptr_t ) ( address ) )
#define otherGICD_CTLR              otherREGISTER( configINTERRUPT_CONTROLLER_BASE_ADDRESS )
#define otherGICD_ISENABLER0        otherREGISTER( configINTERRUPT_CONTROLLER_BASE_ADDRESS + 0x100 )
#define otherGICD_IPRIORITYR        ( ( volatile uint8_t * ) ( configINTERRUPT_CONTROLLER_BASE_ADDRESS + 0x400 ) )
#define otherGICC_CTLR                                                      \
    otherREGISTER( configINTERRUPT_CONTROLLER_BASE_ADDRESS + configINTERRUPT_CONTROLLER_CPU_INTERFACE_OFFSET )

void vSetupTickInterrupt( void )
{
    otherGICD_IPRIORITYR[ otherTIMER_INTERRUPT ] = portLOWEST_USABLE_INTERRUPT_PRIORITY << portPRIORITY_SHIFT;
    otherGICD_ISENABLER0 = 1u << otherTIMER_INTERRUPT;
    otherGICD_CTLR = 1u;
    otherGICC_CTLR = 1u;

    __asm volatile ( "msr cntp_tval_el0, %0" : : "r" ( ( uint64_t ) ( configCPU_CLOCK_HZ / configTICK_RATE_HZ ) ) );
    __asm volatile ( "msr cntp_ctl_el0, %0" : : "r" ( ( uint64_t ) 1 ) );
}
/*-----------------------------------------------------------*/

/* The next tick comes a period after the one that was due, whenever that is handled. */
void vClearTickInterrupt( void )
{
    uint64_t ullDue;

    __asm volatile ( "mrs %0, cntp_cval_el0" : "=r" ( ullDue ) );
    ullDue += configCPU_CLOCK_HZ / configTICK_RATE_HZ;
    __asm volatile ( "msr cntp_cval_el0, %0\n\tisb" : : "r" ( ullDue ) );
}
/*-----------------------------------------------------------*/

void vApplicationIRQHandler( uint32_t ulICCIAR );

void vApplicationIRQHandler( uint32_t ulICCIAR )
{
    if( ( ulICCIAR & 0x3FFu ) != otherTIMER_INTERRUPT )
    {
        rtmark_failed_with( "nobody handles interrupt", ulICCIAR );
    }

    FreeRTOS_Tick_Handler();
}

#elif __ARM_ARCH_PROFILE == 'R' && RTMARK_INTERRUPTS > 0

/* The first counter of the first triple timer, which counts 100 MHz, and its interrupt. */
#define otherTIMER_INTERRUPT        68u
#define otherTIMER_HZ               100000000u

#define otherREGISTER( address )    ( *( volatile uint32_t * ) ( uintptr_t ) ( address ) )
#define otherTTC_CONTROL            otherREGISTER( 0xFF11000C )
#define otherTTC_INTERVAL           otherREGISTER( 0xFF110024 )
#define otherTTC_STATUS             otherREGISTER( 0xFF110054 )
#define otherTTC_ENABLE             otherREGISTER( 0xFF110060 )
#define otherGICD_CTLR              otherREGISTER( configINTERRUPT_CONTROLLER_BASE_ADDRESS )
#define otherGICD_ISENABLER( n )    \
    otherREGISTER( configINTERRUPT_CONTROLLER_BASE_ADDRESS + 0x100 + 4u * ( ( n ) / 32u ) )
#define otherGICD_BYTES( offset )   \
    ( ( volatile uint8_t * ) ( configINTERRUPT_CONTROLLER_BASE_ADDRESS + ( offset ) ) )
#define otherGICC_CTLR                                                      \
    otherREGISTER( configINTERRUPT_CONTROLLER_BASE_ADDRESS + configINTERRUPT_CONTROLLER_CPU_INTERFACE_OFFSET )

/* Interval mode, from zero. */
enum { eStopped = 1, eInterval = 2, eFromZero = 1 << 4 };

void vSetupTickInterrupt( void )
{
    otherGICD_BYTES( 0x400 )[ otherTIMER_INTERRUPT ] = portLOWEST_USABLE_INTERRUPT_PRIORITY << portPRIORITY_SHIFT;
    otherGICD_BYTES( 0x800 )[ otherTIMER_INTERRUPT ] = 1u;
    otherGICD_ISENABLER( otherTIMER_INTERRUPT ) = 1u << ( otherTIMER_INTERRUPT % 32u );

    /* Those that programs pend come to this core, too, once they are enabled. */
    for( uint32_t ulInterrupt = 32u; ulInterrupt < 48u; ulInterrupt++ )
    {
        otherGICD_BYTES( 0x800 )[ ulInterrupt ] = 1u;
    }

    otherGICD_CTLR = 1u;
    otherGICC_CTLR = 1u;

    otherTTC_CONTROL = eStopped;
    otherTTC_INTERVAL = otherTIMER_HZ / configTICK_RATE_HZ - 1u;
    otherTTC_ENABLE = 1u;
    otherTTC_CONTROL = eInterval | eFromZero;
}
/*-----------------------------------------------------------*/

/* Reading clears. */
void vClearTickInterrupt( void )
{
    ( void ) otherTTC_STATUS;
}
/*-----------------------------------------------------------*/

/* The first of the two that `rtmark worst` injects. */
#define otherINJECTED    40u

/* In the images that have interrupts besides, interrupts.c knows their handlers. */
__attribute__( ( weak ) ) void vHandlePeripheral( uint32_t ulInterrupt )
{
    if( ( ulInterrupt | 1u ) != ( otherINJECTED | 1u ) )
    {
        rtmark_failed_with( "nobody handles interrupt", ulInterrupt );
    }
}
/*-----------------------------------------------------------*/

void vApplicationIRQHandler( uint32_t ulICCIAR );

void vApplicationIRQHandler( uint32_t ulICCIAR )
{
    const uint32_t ulInterrupt = ulICCIAR & 0x3FFu;

    if( ulInterrupt == otherTIMER_INTERRUPT )
    {
        FreeRTOS_Tick_Handler();
    }
    else
    {
        vHandlePeripheral( ulInterrupt );
    }
}

#elif __ARM_ARCH_PROFILE == 'R'

/* Distributor and CPU interface, as the port lays them out. */
unsigned char ucNoInterruptController[ 0x1000 ] __attribute__( ( aligned( 16 ) ) );

void vApplicationIRQHandler( uint32_t ulICCIAR );

void vApplicationIRQHandler( uint32_t ulICCIAR )
{
    rtmark_failed_with( "nobody handles interrupt", ulICCIAR );
}
/*-----------------------------------------------------------*/

void vApplicationIdleHook( void );

void vApplicationIdleHook( void )
{
    BaseType_t xSwitchRequired;

    taskENTER_CRITICAL();
    xSwitchRequired = xTaskIncrementTick();
    taskEXIT_CRITICAL();

    if( xSwitchRequired != pdFALSE )
    {
        taskYIELD();
    }
}

#endif

#endif
