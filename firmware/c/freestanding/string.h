/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* As much of <string.h> as images use, for a compiler that comes without a C library. */
#ifndef FREESTANDING_STRING_H
#define FREESTANDING_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *one, const void *other, size_t size);
size_t strlen(const char *text);

#endif
