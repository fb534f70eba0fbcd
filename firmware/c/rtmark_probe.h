/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file rtmark_probe.h
 * Probes: named points in firmware between which rtmark measures.
 *
 * A probe costs nothing. It is a label: no instruction, no register, no byte
 * of flash or RAM. Its address, kind and name go to the ELF section `.rtmark`,
 * which is never loaded; the simulator reads that section and watches the
 * addresses from outside. So probes can stay in a firmware for good.
 *
 * @code
 *     #include "rtmark_probe.h"
 *
 *     RTMARK_BEGIN("adc.filter");
 *     filter(samples);
 *     RTMARK_END("adc.filter");
 * @endcode
 *
 * The header stands alone, needs no library, and works in C and C++ with GCC
 * and Clang for every Arm Cortex-M. One line must go into your linker script,
 * inside SECTIONS, or else `--gc-sections` drops the records:
 *
 * @code
 *     .rtmark 0 (INFO) : { KEEP(*(.rtmark)) }
 * @endcode
 *
 * ## What lies inside a span
 *
 * A probe fires just before the instruction at its address executes. A span
 * therefore holds every instruction from the one after RTMARK_BEGIN up to, and
 * without, the one after RTMARK_END.
 *
 * The compiler moves no call, no memory access and no other volatile operation
 * across a probe. It may still prepare a constant argument in a register before
 * RTMARK_BEGIN, as it may for any call.
 *
 * Begin and end need not be in the same function, nor in the same task: put
 * RTMARK_BEGIN before the call that wakes a task, and RTMARK_END as the first
 * statement of that task after its wait. rtmark pairs each begin with the next
 * end of the same name. When a probe directly precedes a loop, put a statement
 * with an effect between the two: otherwise the loop's first instruction carries
 * the label, and the probe fires in every round.
 * The same holds for a probe that ends a conditional block: otherwise the first
 * instruction after the block carries the label, and the probe fires without the
 * condition, too.
 *
 * A probe that the compiler copies, by inlining or by unrolling, becomes one
 * record for each copy, and all of them count.
 *
 * ## Names
 *
 * A name (`id`) is a string literal of dotted words, such as "adc.filter". It
 * must not contain `"`, `\`, `%`, `{`, `|`, `}`, `;` or a comma.
 *
 * ## The records
 *
 * `.rtmark` is a sequence of records, little-endian, each a multiple of four
 * bytes long and aligned to four:
 *
 * | bytes | content                                         |
 * |-------|-------------------------------------------------|
 * | 4     | 0x524D0000 + kind                               |
 * | 4     | where: what this means depends on the kind      |
 * | n     | the name, ended by a zero, padded with zeros    |
 *
 * | kind | made by                | where                                        |
 * |------|------------------------|----------------------------------------------|
 * | 1    | RTMARK_BEGIN           | address of an instruction, bit 0 clear       |
 * | 2    | RTMARK_END             | address of an instruction, bit 0 clear       |
 * | 3    | RTMARK_BEGIN_AT_PEND   | exception number                             |
 * | 4    | RTMARK_END_AT_RETURN   | exception number                             |
 * | 5    | RTMARK_SCENARIO        | the index that selects the scenario          |
 * | 6    | RTMARK_SETTING         | the value that the setting was compiled with |
 * | 7    | RTMARK_END_AT_SLEEP    | zero                                         |
 * | 8    | RTMARK_BEGIN_AT_RESET  | zero                                         |
 *
 * ## Where nobody watches
 *
 * On a board no simulator looks on. Compiled with RTMARK_CLOCKED defined as 1, and linked
 * with rtmark_clock.c, the same probes are calls that read a counter; rtmark_clock.h tells
 * more. The address of such a record is that after the call. Spans that begin when an
 * exception becomes pending or with the reset, or end when its handler has returned or when
 * the core falls asleep, have no instruction that could be a call, and cannot be measured that
 * way. RTMARK_..._AT_ENTRY needs the compiler's assembly language to pass through
 * entry_probes.awk.
 */
#ifndef RTMARK_PROBE_H
#define RTMARK_PROBE_H

/**
 * A span begins here: it contains the next instruction.
 * A statement, to be used inside a function.
 */
#define RTMARK_BEGIN(id) RTMARK_PROBE_HERE_(1, id)

/**
 * A span ends here: the next instruction is the first one outside.
 * A statement, to be used inside a function.
 */
#define RTMARK_END(id) RTMARK_PROBE_HERE_(2, id)

/**
 * A span begins at the first instruction of `function`, before its prologue.
 * For file scope; `function` is the plain name of a function with C linkage
 * that is defined in the same source file. With link-time optimisation, mark the
 * function `used` and `noinline`, or else there may be nothing at its address.
 */
#define RTMARK_BEGIN_AT_ENTRY(id, function) RTMARK_PROBE_AT_ENTRY_(1, id, function)

/**
 * A span ends at the first instruction of `function`, before its prologue.
 * This is the way to measure how long an interrupt handler takes to be reached:
 * a probe inside the handler would come after the registers that the compiler
 * saves. For file scope, like RTMARK_BEGIN_AT_ENTRY.
 */
#define RTMARK_END_AT_ENTRY(id, function) RTMARK_PROBE_AT_ENTRY_(2, id, function)

/**
 * A span begins in the cycle in which an exception becomes pending.
 * `exception` is its number, written as a decimal or as a macro that is one: external interrupt n is
 * 16 + n, SysTick is 15, PendSV is 14. For file scope.
 */
#define RTMARK_BEGIN_AT_PEND(id, exception) \
    __asm__("rtmark_record 3, " RTMARK_TEXT_(exception) ", \"" id "\"")

/**
 * A span ends at the first instruction that executes after a handler of this
 * exception has returned. `exception` as above. For file scope.
 */
#define RTMARK_END_AT_RETURN(id, exception) \
    __asm__("rtmark_record 4, " RTMARK_TEXT_(exception) ", \"" id "\"")

/**
 * A span ends when the core falls asleep, by WFI, by a WFE that finds no event, or at the end of
 * a handler with SLEEPONEXIT. For file scope.
 */
#define RTMARK_END_AT_SLEEP(id) __asm__("rtmark_record 7, 0, \"" id "\"")

/**
 * A span begins with the reset: in cycle 0 of a run. For file scope.
 */
#define RTMARK_BEGIN_AT_RESET(id) __asm__("rtmark_record 8, 0, \"" id "\"")

/**
 * Declares a scenario that one image holds beside others, and the
 * `static void function(void)` that sets it up. For file scope.
 *
 * The scenarios of an image are numbered from zero in the order of these lines.
 * All of them must be in one source file, which the linker checks. One scenario
 * runs each time the firmware boots: the one whose number is in the word
 * `rtmark_select`; rtmark_firmware.c and firmware.ld, beside this file, see to that.
 * Firmware that measures one thing only needs no scenario.
 */
#define RTMARK_SCENARIO(id, function) \
    RTMARK_USED_(function)            \
    __asm__("rtmark_scenario " #function ", \"" id "\"")

/**
 * Tells what a setting of this build is, such as how often a second it ticks. `value` is a
 * constant; on is 1, off is 0. The names are those of rtmark's docs/settings.md. A
 * statement, to be used inside a function, which nobody needs to call: give it
 * `__attribute__((used))`, and the linker drops it without dropping what it tells.
 */
#define RTMARK_SETTING(id, value)                                             \
    __asm__ __volatile__("rtmark_record 6, " RTMARK_CONSTANT_ ", \"" id "\"" : \
                         : "i"((unsigned long)(value)))

/* ------------------------------------------------- how it is done, from here on */

/* What a macro stands for, as text. */
#define RTMARK_TEXT_(text) #text

/* An operand that is a constant, written as the number alone. */
#if defined(__riscv)
#define RTMARK_CONSTANT_ "%0"
#else
#define RTMARK_CONSTANT_ "%c0"
#endif

/*
 * A compiler takes each line of assembler for an instruction when it estimates how
 * far a branch reaches, and in Thumb code a longer branch is one instruction more.
 * So that a probe is one line, what it writes is in macros of the assembler.
 *
 * - The section's flags are empty, so nothing of it is ever loaded.
 * - A numeric label may be defined any number of times: `771b` is the last one.
 * - A plain `.4byte function` would have bit 0 set, the mark of Thumb code. The
 *   relocation R_ARM_ABS32_NOI is the one that gives the address alone.
 * - The first scenario defines a global symbol whose name explains what is wrong
 *   when a second source file of the image defines it too.
 */
#if !RTMARK_CLOCKED
#define RTMARK_CALL_ "771:\n"
#define RTMARK_CLOBBERS_ "memory"
#elif defined(__arm__)
#define RTMARK_CALL_ "mov r12, lr\nbl rtmark_clock_\\kind\n771:\nmov lr, r12\n"
#define RTMARK_CLOBBERS_ "memory", "r12", "cc"
#elif defined(__aarch64__)
#define RTMARK_CALL_ "adr x17, 771f\nb rtmark_clock_\\kind\n771:\n"
#define RTMARK_CLOBBERS_ "memory", "x16", "x17", "cc"
#elif defined(__riscv)
#define RTMARK_CALL_ \
    ".option push\n.option norvc\njal t0, rtmark_clock_\\kind\n.option pop\n771:\n"
#define RTMARK_CLOBBERS_ "memory", "t0"
#elif defined(__XTENSA__)
#define RTMARK_CALL_ "mov a11, a0\ncall0 rtmark_clock_\\kind\n771:\nmov a0, a11\n"
#define RTMARK_CLOBBERS_ "memory", "a11"
#endif

/* A call is three instructions, and so many lines. */
#if RTMARK_CLOCKED
#define RTMARK_LINES_ "\n\n"
#else
#define RTMARK_LINES_ ""
#endif

/* Two words make a scenario's entry: a function and a name. */
#if defined(__aarch64__)
#define RTMARK_WORD_ ".8byte"
#define RTMARK_ALIGN_ ".balign 8\n"
#else
#define RTMARK_WORD_ ".4byte"
#define RTMARK_ALIGN_ ".balign 4\n"
#endif

#if defined(__riscv)
#define RTMARK_ENTRY_ ".4byte \\function\n"
#else
#define RTMARK_ENTRY_ ".reloc ., R_ARM_ABS32_NOI, \\function\n.4byte 0\n"
#endif

__asm__(
    ".ifndef rtmark_macros_are_defined\n"
    ".set rtmark_macros_are_defined, 1\n"

    ".macro rtmark_record kind, where, id\n"
    ".pushsection .rtmark, \"\", %progbits\n"
    ".4byte 0x524D0000 + \\kind\n"
    ".4byte \\where\n"
    ".asciz \"\\id\"\n"
    ".balign 4, 0\n"
    ".popsection\n"
    ".endm\n"

    ".macro rtmark_probe_here kind, id\n"
    RTMARK_CALL_
    "rtmark_record \\kind, 771b, \"\\id\"\n"
    ".endm\n"

    ".macro rtmark_probe_at_entry kind, function, id\n"
    ".pushsection .rtmark, \"\", %progbits\n"
    ".4byte 0x524D0000 + \\kind\n"
    RTMARK_ENTRY_
    ".asciz \"\\id\"\n"
    ".balign 4, 0\n"
    ".popsection\n"
    ".endm\n"

    ".macro rtmark_scenario function, id\n"
    ".ifndef rtmark_scenario_count\n"
    ".set rtmark_scenario_count, 0\n"
    ".pushsection .rodata.rtmark_scenarios, \"a\", %progbits\n"
    ".globl all_scenarios_of_an_image_belong_in_one_file\n"
    "all_scenarios_of_an_image_belong_in_one_file:\n"
    ".popsection\n"
    ".endif\n"
    "rtmark_record 5, rtmark_scenario_count, \"\\id\"\n"
    ".pushsection .rodata.rtmark_ids, \"a\", %progbits\n"
    "772:\n"
    ".asciz \"\\id\"\n"
    ".popsection\n"
    ".pushsection .rodata.rtmark_scenarios, \"a\", %progbits\n"
    RTMARK_ALIGN_
    RTMARK_WORD_ " \\function\n"
    RTMARK_WORD_ " 772b\n"
    ".popsection\n"
    ".set rtmark_scenario_count, rtmark_scenario_count + 1\n"
    ".endm\n"

    ".endif\n");

/* Nothing but assembler refers to a scenario's function. Clang hears no more about one that is
 * defined already, so there something else refers to it; the linker drops that. */
#if defined(__clang__)
#define RTMARK_USED_(function) RTMARK_USED_BY_(function, __COUNTER__)
#define RTMARK_USED_BY_(function, number) RTMARK_USED_BY__(function, number)
#define RTMARK_USED_BY__(function, number) \
    static void (*const rtmark_used_##number)(void) __attribute__((used)) = function;
#else
#define RTMARK_USED_(function) static void function(void) __attribute__((used));
#endif

/* `inline` tells the compiler that this line is next to nothing when it decides
 * whether to inline the function around it. */
#if defined(__clang__) ? (__clang_major__ >= 11) : (defined(__GNUC__) && __GNUC__ >= 9)
#define RTMARK_ASM_ __asm__ __volatile__ __inline__
#else
#define RTMARK_ASM_ __asm__ __volatile__
#endif

#define RTMARK_PROBE_HERE_(kind, id) \
    RTMARK_ASM_("rtmark_probe_here " #kind ", \"" id "\"" RTMARK_LINES_ : : : RTMARK_CLOBBERS_)

#if RTMARK_CLOCKED
/* A comment, for entry_probes.awk. */
#define RTMARK_PROBE_AT_ENTRY_(kind, id, function) \
    __asm__("/* rtmark_entry " #kind " " #function " \"" id "\" */")
#else
#define RTMARK_PROBE_AT_ENTRY_(kind, id, function) \
    __asm__("rtmark_probe_at_entry " #kind ", " #function ", \"" id "\"")
#endif

#endif
