/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* FreeRTOSConfig.h for the cores that are no Cortex-M: what their ports want besides. */
#ifndef OTHER_CORES_H
#define OTHER_CORES_H

#if defined( __riscv )

/* The core-local interruptor of QEMU's virt. */
#define configMTIME_BASE_ADDRESS 0x0200BFF8
#define configMTIMECMP_BASE_ADDRESS 0x02004000

#endif

#endif
