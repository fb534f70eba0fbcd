/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Included by kernels; nothing of it is used. */
#ifndef FREESTANDING_STDLIB_H
#define FREESTANDING_STDLIB_H

#include <stddef.h>

#endif
