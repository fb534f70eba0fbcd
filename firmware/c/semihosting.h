/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The two semihosting calls by which an image reports: a debugger, QEMU and the
 * simulator all answer them, and none of them needs a peripheral.
 */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

enum semihosting_exit {
    SEMIHOSTING_EXIT_OK = 0x20026,
    SEMIHOSTING_EXIT_FAILED = 0x20023,
};

/* Prints a whole zero-terminated string at once. */
void semihosting_write0(const char *text);

/* Ends the run. */
void semihosting_exit(enum semihosting_exit reason) __attribute__((noreturn));

#endif
