/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file rtmark_clock.h
 * What clocked probes need besides rtmark_probe.h: to be started, and to be printed.
 *
 * Compiled with RTMARK_CLOCKED defined, a probe is a call that notes which probe it is
 * and what a counter says, in a ring in RAM. That is for machines whose instructions
 * nobody watches: boards, and QEMU. The ring is printed when it is nearly full, always at
 * the end of a span, and when the run ends:
 *
 *     @^ 00000003
 *     @+ 080001a5 00001000 080001b9 00001060
 *     @  080001a5 00001200 ...
 *     @. 00000000 5f3e0c41
 *
 * Each pair is the address after a probe's call (with the bit that marks Thumb code) and
 * the low 32 bits of the counter. `@^` begins a run and tells `rtmark_select`, `@+` begins a
 * printing, `@` goes on with it, and `@.` ends the run with the number of events for which there
 * was no room, and a sum: of each word before it on these lines, in their order, added to the
 * sum so far turned left by one bit. Who listens to a serial line, on which a reset may come
 * between or a byte be lost, can tell by them.
 *
 * What the calls themselves cost is measured by spans of the ids `rtmark.empty`,
 * `rtmark.begin` and `rtmark.end`, in which nothing, one other begin, and one other end lie.
 *
 * A probe keeps all registers but r12 (Arm), x16 and x17 (AArch64), t0 (RISC-V) or a11 (Xtensa) and the
 * flags, masks interrupts for some twenty instructions, and takes 16 bytes of stack; a printing
 * takes a hundred and more.
 */
#ifndef RTMARK_CLOCK_H
#define RTMARK_CLOCK_H

#if RTMARK_CLOCKED

#include <stdint.h>

/* Begins the log, starts the counter and measures what probes cost. Before any other probe. */
void rtmark_clock_start(uint32_t select);

/* Prints what the ring holds, and how much was lost. No probe may come after it. */
void rtmark_clock_finish(void);

#else

#define rtmark_clock_start(select) ((void)0)
#define rtmark_clock_finish() ((void)0)

#endif
#endif
