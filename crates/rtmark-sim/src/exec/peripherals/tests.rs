//! Devices as firmware sees them, in the repository's socs.

use super::*;
use crate::soc::{ClockControl, Soc};
use crate::{Cycles, FaultKind, Image, Register, Stop, Watch};
use crate::{Machine, Unmodelled};

macro_rules! machine {
    ($soc:literal) => {
        Rig(Machine::new(
            &Soc::from_toml(include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../socs/",
                $soc,
                ".toml"
            )))
            .expect("good"),
        ))
    };
}

mod chips;
mod crc;
mod dma;
mod lm_timers;
mod nrf;
mod nrf_clock;
mod nrf_rtc;
mod nrf_variants;
mod nxp_timers;
mod pins;
mod registers;
mod resets;
mod rp;
mod spi;
mod stm32;
mod uart_clocks;
mod uarts;

/// A machine whose program is the test.
struct Rig(Machine);

impl Rig {
    fn read(&mut self, address: u32) -> u32 {
        self.0.cortex_m_state().read_peripheral(address).expect("no fault")
    }

    fn write(&mut self, address: u32, value: u32) {
        self.0.cortex_m_state().write_peripheral(address, value, u32::MAX).expect("no fault");
    }

    /// Advances time to a cycle; register accesses then take place in the cycle after it.
    fn until(&mut self, cycle: u64) {
        self.0.cortex_m_state().cycles = cycle;
        self.0.cortex_m_state().pass_time(cycle);
    }

    fn pending(&mut self, irq: u16) -> bool {
        self.0.cortex_m_state().system.nvic.pending().contains(FIRST_INTERRUPT + irq)
    }
}

/// Creates a machine whose clocks its registers determine.
fn following(soc: &str) -> Rig {
    let soc = Soc::from_toml(soc).expect("good");
    Rig(Machine::new(&Soc { clock_control: ClockControl::Registers, ..soc }))
}

fn imxrt() -> Rig {
    following(include_str!("../../../../../socs/imxrt1062.toml"))
}

#[test]
fn clocks_are_ready_and_timers_follow_their_bus_clock() {
    let mut f405 = machine!("stm32f405");
    let (cr, cfgr) = (0x4002_3800, 0x4002_3808);
    assert_eq!(f405.read(cr) >> 16 & 3, 0);
    f405.write(cr, 0x0101_0083);
    assert_eq!(f405.read(cr), 0x0303_0083, "HSERDY and PLLRDY");
    f405.write(cfgr, 0x1402);
    assert_eq!(f405.read(cfgr), 0x140A, "SWS follows SW");
    // TIM2, on a bus with its clock divided by four, counts every second cycle; TIM1, on the other bus,
    // every cycle.
    for timer in [0x4000_0000, 0x4001_0000] {
        f405.write(timer, 1);
    }
    f405.until(1000);
    assert_eq!([f405.read(0x4000_0024), f405.read(0x4001_0024)], [500, 1000]);
    f405.write(cfgr, 0x0002);
    f405.until(1100);
    assert_eq!(f405.read(0x4000_0024), 600, "what was counted stays counted");
}

#[test]
fn flash_wait_states_follow_their_register() {
    let mut f405 = machine!("stm32f405");
    f405.0.poke(0x0800_0000, &[0, 0, 0, 0x20, 9, 0, 0, 8, 0xFE, 0xE7]).expect("flash");
    f405.0.reset().expect("vectors");
    assert!(f405.0.cortex_m_state().lines[0].is_immediate(), "no wait states after a reset");
    f405.write(0x4002_3C00, 0x705);
    let mut flash = f405.0.cortex_m_state().lines[0].clone();
    assert_eq!([flash.fetch(0, 0), flash.fetch(0x100, 9), flash.fetch(0, 20)], [5, 5, 0]);
    f405.write(0x4002_3C00, 0x005);
    let mut flash = f405.0.cortex_m_state().lines[0].clone();
    assert_eq!([flash.fetch(0, 0), flash.fetch(0x100, 9), flash.fetch(0, 20)], [5, 5, 5]);
}

#[test]
fn uarts_take_a_frames_time_and_interrupt() {
    let mut f405 = machine!("stm32f405");
    let (status, data, baud, control) = (0x4000_4400, 0x4000_4404, 0x4000_4408, 0x4000_440C);
    f405.write(baud, 16);
    f405.write(control, 1 << 13 | 1 << 3);
    f405.write(data, b'h'.into());
    assert_eq!(f405.read(status) & 0xC0, 0x80, "one is being sent, there is room");
    f405.write(data, b'i'.into());
    assert_eq!(f405.read(status) & 0xC0, 0, "full");
    // Ten bits of sixteen cycles each, starting at cycle 1.
    f405.write(control, 1 << 13 | 1 << 3 | 1 << 7);
    f405.until(160);
    assert!(!f405.pending(38));
    f405.until(161);
    assert!(f405.pending(38), "TXE");
    f405.until(320);
    assert_eq!(f405.read(status) & 0xC0, 0xC0, "TC");
    assert_eq!(f405.0.take_console(), b"hi");
}

#[test]
fn interrupts_stay_pending_while_their_flag_is_set() {
    let mut f405 = machine!("stm32f405");
    let (control, enable, status, prescaler, reload) =
        (0x4000_0400, 0x4000_040C, 0x4000_0410, 0x4000_0428, 0x4000_042C);
    f405.write(prescaler, 9);
    f405.write(0x4000_0414, 1);
    f405.write(status, 0);
    f405.write(reload, 99);
    f405.write(enable, 1);
    f405.write(control, 1);
    f405.until(1000);
    assert!(!f405.pending(29));
    f405.until(1001);
    assert!(f405.pending(29) && f405.read(status) & 1 == 1);
    f405.0.cortex_m_state().system.nvic.activate(FIRST_INTERRUPT + 29);
    f405.0.cortex_m_state().system.nvic.set_active(FIRST_INTERRUPT + 29, false);
    assert!(f405.pending(29), "the handler has not cleared it");
    f405.write(status, 0);
    f405.0.cortex_m_state().system.nvic.activate(FIRST_INTERRUPT + 29);
    f405.0.cortex_m_state().system.nvic.set_active(FIRST_INTERRUPT + 29, false);
    assert!(!f405.pending(29));
    f405.until(2001);
    assert!(f405.pending(29), "and again");
}

#[test]
fn timers_compare_and_stop_after_one_period() {
    let mut c031 = machine!("stm32c031");
    let tim14 = 0x4000_2000;
    let _ = c031.0.watch(Watch::Pend(FIRST_INTERRUPT + 19));
    c031.write(tim14 + 0x2C, 999);
    c031.write(tim14 + 0x34, 500);
    c031.write(tim14 + 0x0C, 0b10);
    c031.write(tim14, 0b1001);
    c031.until(5000);
    assert_eq!((c031.read(tim14) & 1, c031.read(tim14 + 0x24)), (0, 0), "one pulse");
    let hits: Vec<_> = c031.0.take_hits().iter().map(|hit| hit.cycle.0).collect();
    assert_eq!(hits, [501]);
}

#[test]
fn rp2040_resets_divides_and_wakes() {
    let mut rp = machine!("rp2040");
    let (reset, done) = (0x4000_C000, 0x4000_C008);
    assert_eq!(rp.read(done), 0);
    rp.write(reset + 0x3000, 1 << 22);
    assert_eq!(rp.read(done), 1 << 22, "cleared by the alias");
    rp.write(reset + 0x1000, 1 << 22);
    assert_eq!(rp.read(done), 0, "flipped");
    let sio = 0xD000_0000;
    rp.write(sio + 0x68, -7_i32 as u32);
    rp.write(sio + 0x6C, 2);
    assert_eq!(rp.read(sio + 0x78) & 1, 0);
    rp.0.cortex_m_state().cycles += 20;
    assert_eq!(rp.read(sio + 0x78) & 1, 1);
    assert_eq!([rp.read(sio + 0x74), rp.read(sio + 0x70)], [-1_i32 as u32, -3_i32 as u32]);
    assert_eq!([rp.read(sio + 0x104), rp.read(sio + 0x104)], [2, 0], "a spinlock");
    let timer = 0x4005_4000;
    rp.write(timer + 0x38, 1 << 2);
    rp.write(timer + 0x18, 10);
    rp.until(1249);
    assert!(!rp.pending(2));
    rp.until(1250);
    assert!(rp.pending(2), "ten microseconds at 125 MHz");
    assert_eq!((rp.read(timer + 0x28), rp.read(timer + 0x20)), (10, 0));
}

/// RP2040 datasheet, 4.6.3, and RP2350 datasheet, 12.8.3: an alarm fires once, when the lower half of the
/// time equals it, and not if that moment has passed.
#[test]
fn rp_timer_alarms_fire_once_and_only_on_time() {
    let socs = [
        (machine!("rp2040"), 0x4005_4000, 0x34, 125),
        (machine!("rp2350"), 0x400B_0000, 0x3C, 150),
    ];
    for (mut rp, timer, intr, microsecond) in socs {
        let (alarm, armed, inte) = (timer + 0x10, timer + 0x20, timer + intr + 4);
        rp.write(inte, 1);
        rp.write(alarm, 10);
        assert_eq!(rp.read(armed), 1, "a write arms it");
        rp.until(10 * microsecond);
        assert!(rp.pending(0));
        assert_eq!((rp.read(armed), rp.read(timer + intr)), (0, 1));
        rp.write(timer + intr, 1);
        assert_eq!(rp.read(timer + intr), 0);
        rp.write(alarm, 30);
        rp.write(armed, 1);
        rp.until(40 * microsecond);
        assert_eq!(rp.read(timer + intr), 0, "disarmed");
        for (past, until) in [(40, 60), (39, 80)] {
            rp.write(alarm, past);
            rp.until(until * microsecond);
            assert_eq!((rp.read(armed), rp.read(timer + intr)), (1, 0), "{past}");
        }
        rp.until((1 << 32) * microsecond + 39 * microsecond);
        assert_eq!(rp.read(timer + intr), 1, "a round later");
    }
}

#[test]
fn io_ports_are_faster_and_bridges_slower() {
    let mut rp = machine!("rp2040");
    rp.0.cortex_m_state().cycles = 100;
    rp.read(0xD000_0000);
    assert_eq!(rp.0.cortex_m_state().cycles, 99);
    rp.read(0x4005_4028);
    assert_eq!(rp.0.cortex_m_state().cycles, 100);
    rp.write(0x4005_4020, 0);
    assert_eq!(rp.0.cortex_m_state().cycles, 102);
}

#[test]
fn nrf_uarte_sends_from_ram_and_timers_are_slower_than_the_core() {
    let mut nrf = machine!("nrf52840");
    let uarte = 0x4000_2000;
    nrf.0.poke(0x2000_0000, b"text").expect("RAM");
    nrf.write(uarte + 0x500, 8);
    nrf.write(uarte + 0x524, 0x1000_0000);
    nrf.write(uarte + 0x544, 0x2000_0000);
    nrf.write(uarte + 0x548, 4);
    nrf.write(uarte + 0x304, 1 << 8);
    nrf.write(uarte + 8, 1);
    assert_eq!((nrf.read(uarte + 0x150), nrf.read(uarte + 0x120)), (1, 0));
    // Forty bits at 1 Mbaud and 64 MHz.
    nrf.until(2560);
    assert!(!nrf.pending(2));
    nrf.until(2561);
    assert!(nrf.pending(2) && nrf.read(uarte + 0x120) == 1);
    assert_eq!(nrf.0.take_console(), b"text");
    let rtc = 0x4001_1000;
    nrf.write(rtc + 0x304, 1 << 16);
    nrf.write(rtc + 0x540, 3);
    nrf.write(rtc, 1);
    nrf.until(2562 + 3 * 64_000_000 / 32_768);
    assert!(!nrf.pending(17));
    nrf.until(2564 + 3 * 64_000_000 / 32_768);
    assert!(nrf.pending(17) && nrf.read(rtc + 0x504) == 3);
}

#[test]
fn nrf_timers_clear_by_shorts() {
    let mut nrf = machine!("nrf52840");
    let timer = 0x4000_8000;
    nrf.write(timer + 0x510, 0);
    nrf.write(timer + 0x540, 100);
    nrf.write(timer + 0x200, 1);
    nrf.write(timer, 1);
    nrf.until(4 * 250);
    nrf.write(timer + 0x44, 1);
    assert_eq!((nrf.read(timer + 0x544), nrf.read(timer + 0x140)), (50, 1));
}

#[test]
fn cmsdk_timers_and_uarts_interrupt() {
    let mut mps2 = machine!("mps2-an385");
    let (timer, dual, uart) = (0x4000_0000, 0x4000_2000, 0x4000_4000);
    mps2.write(timer + 8, 99);
    mps2.write(timer + 4, 99);
    mps2.write(timer, 0b1001);
    mps2.until(100);
    assert!(mps2.pending(8));
    mps2.write(timer + 0xC, 1);
    assert_eq!(mps2.read(timer + 0xC), 0);
    mps2.write(dual, 50);
    mps2.write(dual + 8, 0b1110_0011);
    mps2.until(140);
    assert!(!mps2.pending(10));
    mps2.until(151);
    assert!(mps2.pending(10) && mps2.read(dual + 4) == 0);
    mps2.write(uart, b'x'.into());
    mps2.write(uart + 0x10, 16);
    mps2.write(uart + 8, 0b101);
    mps2.write(uart, b'y'.into());
    assert_eq!(mps2.0.take_console(), b"y", "the first one found it off");
}

#[test]
fn unmodelled_registers_are_reported_or_rejected() {
    let mut mps2 = machine!("mps2-an385");
    assert_eq!(mps2.read(0x5FFF_0000), 0);
    mps2.read(0x5FFF_0000);
    mps2.write(0x5FFF_0000, 1);
    mps2.write(0x4000_4020, 1);
    let unmodelled: Vec<_> = mps2.0.unmodelled().collect();
    assert_eq!(unmodelled[0], Unmodelled { address: 0x4000_4020, reads: 0, writes: 1 });
    assert_eq!(unmodelled[1], Unmodelled { address: 0x5FFF_0000, reads: 2, writes: 1 });

    // ldr r0, =0x5FFF0000; ldr r1, [r0]; b .
    let code = [0x4801_u16, 0x6801, 0xE7FE, 0, 0x0000, 0x5FFF];
    let words = [0x2000_0400_u32, 9].map(u32::to_le_bytes).concat();
    let bytes: Vec<_> = words.into_iter().chain(code.map(u16::to_le_bytes).concat()).collect();
    mps2.0.load(&Image::from_raw(&bytes, 0).expect("good")).expect("it fits");
    mps2.0.set_strictness(Strictness::Strict);
    let Stop::Fault(report) = mps2.0.run(Cycles(100)) else { panic!("a fault") };
    assert_eq!((report.kind, report.pc), (FaultKind::Unmodelled, 0xA));
    assert_eq!(report.address, Some(0x5FFF_0000));
}

#[test]
fn polled_storage_only_registers_are_reported() {
    let mut nrf = machine!("nrf52840");
    let (transfers, temp) = (0x4000_3000, 0x4000_C000);
    // Merely keeping a pin's number is harmless; but a transfer would end some time, so starting it is
    // reported.
    nrf.write(transfers + 0x508, 8);
    nrf.write(temp, 1);
    assert_eq!((nrf.read(transfers + 0x508), nrf.0.unmodelled().count()), (8, 0));
    nrf.write(transfers, 0);
    assert_eq!(nrf.0.unmodelled().count(), 0);
    nrf.write(transfers, 1);
    let unmodelled: Vec<_> = nrf.0.unmodelled().collect();
    assert_eq!(unmodelled, [Unmodelled { address: transfers, reads: 0, writes: 1 }]);

    // ldr r0, =0x40003200; ldr r1, [r0]; cmp r1, #0; beq to the load
    let code = [0x4801_u16, 0x6801, 0x2900, 0xD0FC, 0x3200, 0x4000];
    let words = [0x2000_0400_u32, 9].map(u32::to_le_bytes).concat();
    let bytes: Vec<_> = words.into_iter().chain(code.map(u16::to_le_bytes).concat()).collect();
    nrf.0.load(&Image::from_raw(&bytes, 0).expect("good")).expect("it fits");
    assert!(matches!(nrf.0.run(Cycles(100_000)), Stop::Limit));
    let waited = nrf.0.unmodelled().find(|register| register.address == transfers + 0x200);
    let reads = waited.expect("it waits there").reads;
    assert!(reads > 1_000, "{reads}");
}

/// Devices keep running whatever is written to any register.
#[test]
fn no_register_access_panics() {
    let mut state = 0x1234_5678_9ABC_DEF1_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../socs");
    for entry in std::fs::read_dir(folder).expect("socs/ is there") {
        let text = std::fs::read_to_string(entry.expect("readable").path()).expect("readable");
        let soc = Soc::from_toml(&text).expect("good");
        let places: Vec<_> = soc.peripherals.iter().map(|p| (p.base, p.extent())).collect();
        // Cores of other families reach devices in their own way.
        if places.is_empty() || !soc.core.is_cortex_m() {
            continue;
        }
        let mut machine = Machine::new(&soc);
        for _ in 0..20_000 {
            let (base, extent) = places[random() as usize % places.len()];
            // Most registers are near the start of a block.
            let within = if random() % 4 == 0 { extent } else { extent.min(0x100) };
            let address = (base + random() % within) & !3;
            let value = match random() % 4 {
                0 => 0,
                1 => u32::MAX,
                2 => 1 << (random() % 32),
                _ => random(),
            };
            if random() % 2 == 0 {
                machine
                    .cortex_m_state()
                    .write_peripheral(address, value, u32::MAX)
                    .expect("no fault");
            } else {
                machine.cortex_m_state().read_peripheral(address).expect("no fault");
            }
            machine.cortex_m_state().cycles += u64::from(random() >> (random() % 32));
            let now = machine.cortex_m_state().cycles;
            machine.cortex_m_state().pass_time(now);
            machine.cortex_m_state().console.take();
            assert!(
                machine.cortex_m_state().devices.next() > now,
                "{}: a date that has come",
                soc.name
            );
        }
    }
}

#[test]
fn factory_contents_persist_and_images_fill_the_rest() {
    let mut nrf = machine!("nrf52840");
    let (part, customer, reset_pin, bootloader) =
        (0x1000_0100, 0x1000_1080, 0x1000_1200, 0x1000_1014);
    assert_eq!([nrf.read(part), nrf.read(customer)], [0x0005_2840, u32::MAX]);
    nrf.write(part, 0);
    nrf.write(customer, 0);
    assert_eq!([nrf.read(part), nrf.read(customer)], [0x0005_2840, u32::MAX]);
    // Vectors and an endless loop; the address of a bootloader; a reset pin of which only one byte is
    // given.
    let hex = ":0C00000000100020090000000000FEE7D6\n:020000041000EA\n:0410140000E00700F1\n\
               :011200001DD0\n:00000001FF\n";
    nrf.0.load(&Image::from_hex(hex.as_bytes()).expect("an image")).expect("it fits");
    assert_eq!([nrf.read(bootloader), nrf.read(reset_pin)], [0x0007_E000, 0x1D]);
    nrf.0.reset().expect("vectors");
    assert_eq!(nrf.read(bootloader), 0x0007_E000, "also behind a reset");
    let mut f405 = machine!("stm32f405");
    assert_eq!(f405.read(0x1FFF_7A20) >> 16, 1024, "KiB of flash");
    let id = f405.0.cortex_m_state().read_system(0xE004_2000).expect("DBGMCU answers");
    assert_eq!(id & 0xFFF, 0x413);
    assert!(f405.0.cortex_m_state().read_system(0xF000_0FE0).is_err(), "nothing of the vendor's");
}

#[test]
fn random_numbers_differ_within_a_run_and_repeat_across_runs() {
    let (enable, status, data) = (0x5006_0800, 0x5006_0804, 0x5006_0808);
    let numbers = || {
        let mut f405 = machine!("stm32f405");
        assert_eq!(f405.read(status) & 1, 0);
        f405.write(enable, 4);
        assert_eq!(f405.read(status) & 1, 1);
        [(); 4].map(|()| f405.read(data))
    };
    let first = numbers();
    assert_eq!(first, numbers());
    assert!(first.iter().enumerate().all(|(at, number)| !first[..at].contains(number)));
}

/// Stores as the program itself would.
fn store(rig: &mut Rig, address: u32, value: u32, bytes: u32) -> Done {
    rig.0.cortex_m_state().write_beyond_memory(address, value, bytes)
}

#[test]
fn flash_accepts_only_the_enabled_operation() {
    let mut nrf = machine!("nrf52840");
    let (page, config, erase) = (0x000F_E000, 0x4001_E504, 0x4001_E508);
    nrf.0.poke(page - 4, &[0; 0x1008]).expect("flash");
    assert!(store(&mut nrf, page, 1, 4).is_err(), "closed");
    nrf.write(config, 2);
    nrf.write(erase, page + 8);
    let around = [page - 4, page, page + 0xFFC, page + 0x1000];
    let word = |rig: &Rig, at| u32::from_le_bytes(rig.0.peek(at, 4).try_into().expect("flash"));
    assert_eq!(around.map(|at| word(&nrf, at)), [0, u32::MAX, u32::MAX, 0]);
    nrf.write(config, 1);
    for (address, value, bytes) in [(page, 0x1234_FFFF, 4), (page + 1, 0x5A, 1)] {
        store(&mut nrf, address, value, bytes).expect("open");
    }
    assert_eq!(word(&nrf, page), 0x1234_5AFF, "bits are only cleared");
    nrf.write(config, 0);
    assert!(store(&mut nrf, page, 0, 4).is_err(), "closed again");
    // By sector number; the fifth sector is longer.
    let mut f405 = machine!("stm32f405");
    let (key, control) = (0x4002_3C04, 0x4002_3C10);
    f405.0.poke(0x0800_0000, &vec![0; 0x4_0000]).expect("flash");
    for value in [0x4567_0123, 0xCDEF_89AB] {
        f405.write(key, value);
    }
    assert_eq!(f405.read(control), 0, "not locked");
    f405.write(control, 4 << 3 | 2 | 1 << 16);
    assert_eq!(f405.read(control), 4 << 3 | 2, "started, and done");
    let around = [0x0800_FFFC, 0x0801_0000, 0x0801_FFFC, 0x0802_0000];
    assert_eq!(around.map(|at| word(&f405, at)), [0, u32::MAX, u32::MAX, 0]);
    // By an address that another register holds.
    let mut f100 = machine!("stm32f100");
    f100.0.poke(0x0800_0000, &[0; 0x2000]).expect("flash");
    for value in [0x4567_0123, 0xCDEF_89AB] {
        f100.write(0x4002_2004, value);
    }
    f100.write(0x4002_2014, 0x0800_0C10);
    f100.write(0x4002_2010, 2 | 1 << 6);
    let around = [0x0800_0BFC, 0x0800_0C00, 0x0800_0FFC, 0x0800_1000];
    assert_eq!(around.map(|at| word(&f100, at)), [0, u32::MAX, u32::MAX, 0]);
}

#[test]
fn code_programmed_into_flash_executes() {
    // Unlocks the flash, calls a function that returns 1, programs another number into it, and calls it
    // again.
    let program = [
        0x4C07_u16, 0x2501, 0xF000, 0xF80A, 0x0006, 0x6025, 0x4D05, 0xF04F, 0x0424, 0x6025, 0xF000,
        0xF802, 0xBE00, 0xBF00, 0x2001, 0x4770, 0xE504, 0x4001, 0x2000, 0x4770,
    ];
    let mut bytes = [0x2000_1000_u32, 9].map(u32::to_le_bytes).concat();
    bytes.extend(program.iter().flat_map(|half| half.to_le_bytes()));
    let mut nrf = machine!("nrf52840").0;
    nrf.load(&Image::from_raw(&bytes, 0).expect("an image")).expect("it fits");
    let before = nrf.clone();
    for mut machine in [nrf, before] {
        assert_eq!(machine.run(Cycles(1_000)), Stop::Breakpoint(0x20));
        let answers = [6, 0].map(|number| machine.register(Register::R(number)));
        assert_eq!(answers, [1, 0]);
    }
}
