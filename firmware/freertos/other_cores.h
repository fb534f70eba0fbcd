/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* FreeRTOSConfig.h for the cores that are no Cortex-M: what their ports want besides. */
#ifndef OTHER_CORES_H
#define OTHER_CORES_H

#if defined( __riscv )

/* The core's own timer, which counts at the soc's clock. */
#define configMTIME_BASE_ADDRESS RTMARK_MTIME
#define configMTIMECMP_BASE_ADDRESS RTMARK_MTIMECMP

#elif defined( __aarch64__ )

/* A machine without memory management is not short of memory. Words are of eight bytes. */
#undef configTOTAL_HEAP_SIZE
#define configTOTAL_HEAP_SIZE 16384

/* The interrupt controller of QEMU's virt, a GICv2 with eight bits of priority. */
#define configINTERRUPT_CONTROLLER_BASE_ADDRESS 0x08000000UL
#define configINTERRUPT_CONTROLLER_CPU_INTERFACE_OFFSET 0x10000UL
#define configUNIQUE_INTERRUPT_PRIORITIES 256
#define configMAX_API_CALL_INTERRUPT_PRIORITY 160

/* The tick is the generic timer's. */
void vSetupTickInterrupt( void );
void vClearTickInterrupt( void );
#define configSETUP_TICK_INTERRUPT() vSetupTickInterrupt()
#define configCLEAR_TICK_INTERRUPT() vClearTickInterrupt()

#elif __ARM_ARCH_PROFILE == 'R'

#define configUSE_TASK_FPU_SUPPORT 0

#if RTMARK_INTERRUPTS > 0

/* The PL390 of a Zynq UltraScale+, with five bits of priority; the highest level that may call the
 * kernel is that of AMD's port (freertos10_xilinx: max_api_call_interrupt_priority). */
#define configINTERRUPT_CONTROLLER_BASE_ADDRESS 0xF9000000UL
#define configINTERRUPT_CONTROLLER_CPU_INTERFACE_OFFSET 0x1000UL
#define configUNIQUE_INTERRUPT_PRIORITIES 32
#define configMAX_API_CALL_INTERRUPT_PRIORITY 18
/* The same by the names that ports of Cortex-M have: bits, and the level as the controller's registers have it. */
#define configPRIO_BITS RTMARK_PRIORITY_BITS
#define configMAX_SYSCALL_INTERRUPT_PRIORITY ( configMAX_API_CALL_INTERRUPT_PRIORITY << ( 8 - RTMARK_PRIORITY_BITS ) )

/* In images that have interrupts besides the timer's. */
void vHandlePeripheral( uint32_t ulInterrupt );

/* The tick is the first counter's of the first triple timer. */
void vSetupTickInterrupt( void );
void vClearTickInterrupt( void );
#define configSETUP_TICK_INTERRUPT() vSetupTickInterrupt()
#define configCLEAR_TICK_INTERRUPT() vClearTickInterrupt()

#else

/* No interrupt controller answers where the chip has one: the port's writes go to memory
 * that keeps them. */
extern unsigned char ucNoInterruptController[];
#define configINTERRUPT_CONTROLLER_BASE_ADDRESS ( ( uintptr_t ) ucNoInterruptController )
#define configINTERRUPT_CONTROLLER_CPU_INTERFACE_OFFSET 0x800UL
#define configUNIQUE_INTERRUPT_PRIORITIES 256
#define configMAX_API_CALL_INTERRUPT_PRIORITY 160

/* And so there is no tick, unless nobody is ready: then the idle task makes time go on. */
#undef configUSE_IDLE_HOOK
#define configUSE_IDLE_HOOK 1
#define configSETUP_TICK_INTERRUPT()
#define configCLEAR_TICK_INTERRUPT()

#endif

#endif

#endif
