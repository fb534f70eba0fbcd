/* The first micro:bit's nRF51822: its UART by polling and by interrupt, a timer that interrupts and
 * one that counts tasks, pins, the flash's controller, and interrupts without a device. Written with
 * nothing but the nRF51 Series Reference Manual; what it prints depends on no timing. */

#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define CLOCK(offset) REGISTER(0x40000000 + (offset))
#define UART(offset) REGISTER(0x40002000 + (offset))
#define TIMER0(offset) REGISTER(0x40008000 + (offset))
#define TIMER1(offset) REGISTER(0x40009000 + (offset))
#define RNG(offset) REGISTER(0x4000D000 + (offset))
#define NVMC(offset) REGISTER(0x4001E000 + (offset))
#define GPIO(offset) REGISTER(0x50000000 + (offset))
#define FICR(offset) REGISTER(0x10000000 + (offset))
#define NVIC_ISER REGISTER(0xE000E100)
#define NVIC_ISPR REGISTER(0xE000E200)
#define UART_IRQ 2
#define TIMER0_IRQ 8
#define SWI0_IRQ 20

/* The last page of the flash. */
#define PAGE 0x3FC00u

extern uint32_t stack_top[];
void reset(void);
void uart_ready(void);
void timer(void);
void software(void);

static volatile uint32_t ticks, pended;
static const char *volatile rest;

__attribute__((section(".vectors"), used)) void *const vectors[16 + 32] = {
    [0] = stack_top,
    [1] = reset,
    [16 + UART_IRQ] = uart_ready,
    [16 + TIMER0_IRQ] = timer,
    [16 + SWI0_IRQ] = software,
};

/* Begins with a byte; TXDRDY tells that it has left. */
static void put(char byte)
{
    UART(0x11C) = 0;
    UART(0x51C) = (uint32_t)byte;
    while (UART(0x11C) == 0) {
    }
}

static void print(const char *text)
{
    while (*text) {
        put(*text++);
    }
}

static void print_number(const char *name, uint32_t number)
{
    print(name);
    for (int shift = 28; shift >= 0; shift -= 4) {
        put("0123456789abcdef"[number >> shift & 15]);
    }
    put('\n');
}

void uart_ready(void)
{
    const char *next = rest;
    UART(0x11C) = 0;
    if (*next) {
        rest = next + 1;
        UART(0x51C) = (uint32_t)*next;
    }
}

void timer(void)
{
    TIMER0(0x140) = 0;
    /* It may come once more before it stands still. */
    if (ticks < 5) {
        ticks += 1;
    } else {
        TIMER0(0x004) = 1;
    }
}

void software(void)
{
    pended += 1;
}

static void wait_for(volatile uint32_t *count, uint32_t wanted)
{
    while (*count < wanted) {
        __asm__ volatile("wfe");
    }
}

static void write_flash(uint32_t address, uint32_t value)
{
    NVMC(0x504) = 1;
    REGISTER(address) = value;
    while (NVMC(0x400) == 0) {
    }
    NVMC(0x504) = 0;
}

static void erase_flash(uint32_t address)
{
    NVMC(0x504) = 2;
    NVMC(0x508) = address;
    while (NVMC(0x400) == 0) {
    }
    NVMC(0x504) = 0;
}

void reset(void)
{
    ticks = 0;
    pended = 0;
    CLOCK(0x000) = 1;
    while (CLOCK(0x100) == 0) {
    }
    UART(0x50C) = 24;
    UART(0x514) = 25;
    UART(0x524) = 0x01D7E000;
    UART(0x500) = 4;
    UART(0x008) = 1;
    print("hello from a micro:bit\n");
    print_number("bytes of a page   ", FICR(0x10));
    print_number("pages             ", FICR(0x14));

    erase_flash(PAGE);
    print_number("erased            ", REGISTER(PAGE));
    write_flash(PAGE, 0x51822);
    write_flash(PAGE + 4, 0x12345678);
    print_number("written           ", REGISTER(PAGE) + REGISTER(PAGE + 4));

    /* Five times a tenth of a millisecond, then no more. */
    TIMER0(0x508) = 3;
    TIMER0(0x510) = 0;
    TIMER0(0x540) = 1600;
    TIMER0(0x200) = 1;
    TIMER0(0x304) = 1 << 16;
    NVIC_ISER = 1 << TIMER0_IRQ | 1 << SWI0_IRQ;
    TIMER0(0x000) = 1;
    wait_for(&ticks, 5);
    print_number("ticks             ", ticks);

    /* A counter of tasks, cleared once. */
    TIMER1(0x504) = 1;
    TIMER1(0x000) = 1;
    TIMER1(0x008) = 1;
    TIMER1(0x00C) = 1;
    for (int i = 0; i < 3; i++) {
        TIMER1(0x008) = 1;
    }
    TIMER1(0x044) = 1;
    print_number("tasks counted     ", TIMER1(0x544));

    NVIC_ISPR = 1 << SWI0_IRQ;
    wait_for(&pended, 1);
    print_number("software interrupt", pended);

    GPIO(0x518) = 1 << 13 | 1 << 4;
    GPIO(0x51C) = 1 << 4;
    GPIO(0x508) = 1 << 13 | 1 << 2;
    GPIO(0x50C) = 1 << 2;
    print_number("outputs           ", GPIO(0x514));
    print_number("high              ", GPIO(0x504));

    RNG(0x000) = 1;
    while (RNG(0x100) == 0) {
    }
    print_number("a random byte     ", RNG(0x508) >> 8);

    rest = "y interrupts\n";
    UART(0x11C) = 0;
    UART(0x304) = 1 << 7;
    NVIC_ISER = 1 << UART_IRQ;
    UART(0x51C) = 'b';
    while (*rest) {
        __asm__ volatile("wfe");
    }
    /* The last byte. */
    for (volatile uint32_t i = 0; i < 2000; i++) {
    }

    /* Semihosting's exit: success. */
    register uint32_t call __asm__("r0") = 0x18;
    register uint32_t reason __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" : : "r"(call), "r"(reason) : "memory");
    for (;;) {
    }
}
