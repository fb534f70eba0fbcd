//! A Pico that blinks and prints by UART while an alarm of the timer interrupts.
#![no_std]
#![no_main]

use core::cell::RefCell;
use core::fmt::Write;
use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::interrupt::Mutex;
use embedded_hal::delay::DelayNs;
use embedded_hal::digital::OutputPin;
use panic_halt as _;
use rp2040_hal::clocks::{Clock, init_clocks_and_plls};
use rp2040_hal::fugit::{ExtU32, RateExtU32};
use rp2040_hal::gpio::Pins;
use rp2040_hal::pac::{self, interrupt};
use rp2040_hal::rom_data::{double_funcs, float_funcs};
use rp2040_hal::timer::{Alarm, Alarm0, Timer};
use rp2040_hal::uart::{DataBits, StopBits, UartConfig, UartPeripheral};
use rp2040_hal::{Sio, Watchdog};

#[unsafe(link_section = ".boot2")]
#[used]
static BOOT2: [u8; 256] = rp2040_boot2::BOOT_LOADER_W25Q080;

static ALARM: Mutex<RefCell<Option<Alarm0>>> = Mutex::new(RefCell::new(None));
static RINGS: AtomicU32 = AtomicU32::new(0);

#[rp2040_hal::entry]
fn main() -> ! {
    let mut pac = pac::Peripherals::take().unwrap();
    let mut watchdog = Watchdog::new(pac.WATCHDOG);
    let clocks = init_clocks_and_plls(
        12_000_000,
        pac.XOSC,
        pac.CLOCKS,
        pac.PLL_SYS,
        pac.PLL_USB,
        &mut pac.RESETS,
        &mut watchdog,
    )
    .ok()
    .unwrap();
    let mut timer = Timer::new(pac.TIMER, &mut pac.RESETS, &clocks);
    let sio = Sio::new(pac.SIO);
    let pins = Pins::new(pac.IO_BANK0, pac.PADS_BANK0, sio.gpio_bank0, &mut pac.RESETS);
    let mut led = pins.gpio25.into_push_pull_output();
    let uart_pins = (pins.gpio0.into_function(), pins.gpio1.into_function());
    let config = UartConfig::new(115_200.Hz(), DataBits::Eight, None, StopBits::One);
    let uart = UartPeripheral::new(pac.UART0, uart_pins, &mut pac.RESETS);
    let mut uart = uart.enable(config, clocks.peripheral_clock.freq()).unwrap();

    let mut alarm = timer.alarm_0().unwrap();
    alarm.schedule(2_500u32.micros()).unwrap();
    alarm.enable_interrupt();
    cortex_m::interrupt::free(|cs| ALARM.borrow(cs).replace(Some(alarm)));
    unsafe { cortex_m::peripheral::NVIC::unmask(pac::Interrupt::TIMER_IRQ_0) };

    writeln!(uart, "hello from rp2040-hal at {} Hz", clocks.system_clock.freq().to_Hz()).unwrap();
    for round in 0..4u32 {
        led.set_high().unwrap();
        let begun = timer.get_counter();
        timer.delay_ms(2);
        led.set_low().unwrap();
        let took = (timer.get_counter() - begun).to_micros();
        let seventh = (1_000 + round) / 7;
        writeln!(uart, "round {round}: {took} us, {} / 7 = {seventh}", 1_000 + round).unwrap();
    }
    writeln!(uart, "alarm: {} rings", RINGS.load(Ordering::Relaxed)).unwrap();
    // By the boot ROM: the library's operators and functions lead there.
    let seven = core::hint::black_box(7.0);
    let (root, sine) = (float_funcs::fsqrt(seven), double_funcs::dsin(f64::from(seven)));
    writeln!(uart, "float: {:.4}, {root:.4}, {sine:.9}", seven * seven / 3.0 - 0.5).unwrap();
    cortex_m::asm::bkpt();
    loop {
        cortex_m::asm::wfi();
    }
}

#[interrupt]
fn TIMER_IRQ_0() {
    cortex_m::interrupt::free(|cs| {
        if let Some(alarm) = ALARM.borrow(cs).borrow_mut().as_mut() {
            alarm.clear_interrupt();
            alarm.schedule(2_500u32.micros()).unwrap();
        }
    });
    RINGS.store(RINGS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}
