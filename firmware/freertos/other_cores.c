/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the ports of cores other than Cortex-M ask of an application. */
#include "bench.h"

#if defined( __riscv )

/* The port saves the context of the interrupted task and comes here. */
void freertos_risc_v_application_exception_handler( uint32_t ulCause );

void freertos_risc_v_application_exception_handler( uint32_t ulCause )
{
    rtmark_failed_with( "nobody handles mcause", ulCause );
}

#endif
