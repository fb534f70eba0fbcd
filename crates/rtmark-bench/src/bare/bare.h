/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs without kernel and library: what they begin and end with is in bare.c. */
#include <stddef.h>
#include <stdint.h>

/* What is measured. */
void program(void);
/* Makes the compiler work out a value. */
void keep(uint32_t value);
/* Ends the run as a failure. */
void failed(void);
void *memset(void *to, int byte, size_t count);
void *memcpy(void *to, const void *from, size_t count);
