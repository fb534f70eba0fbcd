//! An STM32F405 at 168 MHz that prints by USART2 and by RTT while a timer interrupts.
#![no_std]
#![no_main]

use core::fmt::Write;
use core::sync::atomic::{AtomicU32, Ordering};

use panic_halt as _;
use rtt_target::{rprintln, rtt_init_print};
use stm32f4xx_hal::pac::{self, interrupt};
use stm32f4xx_hal::prelude::*;
use stm32f4xx_hal::rcc::Config;
use stm32f4xx_hal::timer::Event;

static UPDATES: AtomicU32 = AtomicU32::new(0);

#[cortex_m_rt::entry]
fn main() -> ! {
    rtt_init_print!();
    let device = pac::Peripherals::take().unwrap();
    let clocks = Config::hse(8.MHz()).sysclk(168.MHz()).pclk1(42.MHz()).pclk2(84.MHz());
    let mut rcc = device.RCC.freeze(clocks);
    let gpioa = device.GPIOA.split(&mut rcc);
    let mut led = gpioa.pa5.into_push_pull_output();
    let mut tx = device.USART2.tx(gpioa.pa2, 115_200.bps(), &mut rcc).unwrap();

    let mut counter = device.TIM3.counter_us(&mut rcc);
    counter.start(700.micros()).unwrap();
    counter.listen(Event::Update);
    unsafe { cortex_m::peripheral::NVIC::unmask(pac::Interrupt::TIM3) };
    let mut delay = device.TIM5.delay_us(&mut rcc);

    rprintln!("RTT of {} Hz", rcc.clocks.sysclk().raw());
    delay.delay_ms(1);
    writeln!(tx, "hello from stm32f4xx-hal at {} Hz", rcc.clocks.sysclk().raw()).unwrap();
    for round in 0..4u32 {
        led.toggle();
        delay.delay_ms(1);
        let half = round as f32 * 0.5;
        writeln!(tx, "round {round}: led {}, half {half:.1}", led.is_set_high()).unwrap();
    }
    nb::block!(tx.flush()).unwrap();
    let updates = UPDATES.load(Ordering::Relaxed);
    rprintln!("{}", if updates > 8 { "many updates" } else { "few updates" });
    cortex_m::asm::bkpt();
    loop {
        cortex_m::asm::wfi();
    }
}

#[interrupt]
fn TIM3() {
    // The timer belongs to `main`, which only counts with it.
    let timer = unsafe { &*pac::TIM3::ptr() };
    timer.sr().modify(|_, w| w.uif().clear_bit());
    UPDATES.store(UPDATES.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}
