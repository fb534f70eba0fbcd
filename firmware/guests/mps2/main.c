/* An MPS2 that prints by its UART, the rest of the lines in the UART's own interrupt,
 * while a timer counts; written with nothing but the application note. */

#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define TIMER0_CTRL REGISTER(0x40000000)
#define TIMER0_RELOAD REGISTER(0x40000008)
#define TIMER0_INTCLEAR REGISTER(0x4000000C)
#define UART0_DATA REGISTER(0x40004000)
#define UART0_STATE REGISTER(0x40004004)
#define UART0_CTRL REGISTER(0x40004008)
#define UART0_INTCLEAR REGISTER(0x4000400C)
#define UART0_BAUDDIV REGISTER(0x40004010)
#define NVIC_ISER0 REGISTER(0xE000E100)

extern uint32_t stack_top[];
void reset(void);
void uart_sent(void);
void timer(void);

static volatile uint32_t ticks;
static const char *volatile rest;

__attribute__((section(".vectors"), used)) void *const vectors[16 + 32] = {
    [0] = stack_top, [1] = reset, [16 + 1] = uart_sent, [16 + 8] = timer,
};

static void print(const char *text)
{
    while (*text) {
        while (UART0_STATE & 1) {
        }
        UART0_DATA = (uint32_t)*text++;
    }
}

void uart_sent(void)
{
    UART0_INTCLEAR = 1;
    const char *next = rest;
    if (*next) {
        UART0_DATA = (uint32_t)*next;
        rest = next + 1;
    }
}

void timer(void)
{
    TIMER0_INTCLEAR = 1;
    ticks += 1;
}

void reset(void)
{
    ticks = 0;
    rest = "interrupts print\n";
    UART0_BAUDDIV = 217;
    UART0_CTRL = 1;
    print("hello from an MPS2\n");
    while (UART0_STATE & 1) {
    }
    TIMER0_RELOAD = 2500 - 1;
    TIMER0_CTRL = 9;
    NVIC_ISER0 = 1u << 1 | 1u << 8;
    UART0_CTRL = 5;
    UART0_DATA = '>';
    while (*rest) {
        __asm volatile("wfi");
    }
    while (ticks < 20) {
        __asm volatile("wfi");
    }
    print("twenty ticks\n");
    __asm volatile("bkpt 0");
    for (;;) {
    }
}
