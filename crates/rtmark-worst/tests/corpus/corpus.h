/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the programs of the corpus share: how they begin, mask interrupts, and end. */
#include <stdint.h>

void program(void) __attribute__((noreturn));
void interrupt(void);

static inline void mask(void) { __asm__ volatile("cpsid i" ::: "memory"); }
static inline void unmask(void) { __asm__ volatile("cpsie i" ::: "memory"); }
static inline void wait_for_interrupt(void) { __asm__ volatile("wfi" ::: "memory"); }

__attribute__((noreturn)) static inline void end(int right)
{
    register uint32_t operation __asm__("r0") = 0x18;
    register uint32_t reason __asm__("r1") = right ? 0x20026u : 0x20023u;

    __asm__ volatile("cpsid i\n\tbkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
    for (;;) {
    }
}

__attribute__((used, section(".vectors"))) static const void *const vectors[17] = {
    [0] = (void *)0x20001000, [1] = (void *)program, [16] = (void *)interrupt,
};
