//! nRF52840: events connected to tasks by the PPI, pins, and UARTE in both directions. Each test is named
//! after a statement of the nRF52840 Product Specification and cites its section.

use super::*;
use crate::{Level, PinChange};

const PPI: u32 = 0x4001_F000;
const ENABLE_SET: u32 = PPI + 0x504;
const TIMERS: [u32; 3] = [0x4000_8000, 0x4000_9000, 0x4000_A000];
const START: u32 = 0;
const COUNT: u32 = 0x08;
const CAPTURE: u32 = 0x40;
const COMPARE: u32 = 0x140;
const CC: u32 = 0x540;
const EGU: u32 = 0x4001_4000;
const TRIGGERED: u32 = EGU + 0x100;
const UARTE: u32 = 0x4000_2000;
const GPIO: u32 = 0x5000_0000;
const GPIOTE: u32 = 0x4000_6000;
/// The cycles of one frame at 1 Mbaud and 64 MHz.
const FRAME: u64 = 640;
const RAM: u32 = 0x2000_0000;

impl Rig {
    fn connect(&mut self, channel: u32, event: u32, task: u32) {
        self.write(PPI + 0x510 + 8 * channel, event);
        self.write(PPI + 0x514 + 8 * channel, task);
        self.write(ENABLE_SET, 1 << channel);
    }

    /// Starts a timer that counts events.
    fn start_counter(&mut self, timer: u32) {
        self.write(timer + 0x504, 2);
        self.write(timer + START, 1);
    }

    /// Starts a timer that counts 16 MHz in 32 bits.
    fn start_timer(&mut self, timer: u32) {
        self.write(timer + 0x508, 3);
        self.write(timer + 0x510, 0);
        self.write(timer + START, 1);
    }

    /// Enables UARTE at 1 Mbaud.
    fn enable_uarte(&mut self) {
        self.write(UARTE + 0x524, 0x1000_0000);
        self.write(UARTE + 0x500, 8);
    }

    fn send(&mut self, text: &[u8]) {
        self.0.poke(RAM, text).expect("RAM");
        self.write(UARTE + 0x544, RAM);
        self.write(UARTE + 0x548, text.len() as u32);
        self.write(UARTE + 8, 1);
    }

    fn receive(&mut self, to: u32, length: u32) {
        self.write(UARTE + 0x534, to);
        self.write(UARTE + 0x538, length);
        self.write(UARTE, 1);
    }

    fn clear(&mut self, events: &[u32]) {
        for event in events {
            self.write(*event, 0);
        }
    }

    fn unmodelled(&self) -> Vec<u32> {
        self.0.unmodelled().map(|register| register.address).collect()
    }

    fn drive(&mut self, pin: &str, changes: &[(u64, Level)]) {
        let changes = changes.iter().map(|&(cycle, level)| PinChange { cycle, level });
        self.0.drive_pin(pin, &changes.collect::<Vec<_>>()).expect("it has it");
    }
}

#[test]
fn ps_6_16_an_event_reaches_its_tasks_one_period_of_16_mhz_later() {
    let mut nrf = machine!("nrf52840");
    nrf.write(TIMERS[0] + CC, 100);
    nrf.connect(3, TIMERS[0] + COMPARE, TIMERS[1] + CAPTURE);
    // The fork triggers a second task in the same cycle.
    nrf.write(PPI + 0x910 + 4 * 3, TIMERS[1] + CAPTURE + 4);
    TIMERS[..2].iter().for_each(|timer| nrf.start_timer(*timer));
    nrf.until(403);
    assert_eq!(nrf.read(TIMERS[1] + CC), 0);
    nrf.until(404);
    assert_eq!([0, 4].map(|at| nrf.read(TIMERS[1] + CC + at)), [101, 101]);
    assert_eq!(nrf.unmodelled(), []);
    // A disabled channel carries nothing.
    nrf.write(PPI + 0x508, 1 << 3);
    nrf.write(TIMERS[0] + CC, 200);
    nrf.until(1000);
    assert_eq!(nrf.read(TIMERS[1] + CC), 101);
}

#[test]
fn ps_6_1_an_event_propagates_even_if_its_register_is_already_set() {
    let mut nrf = machine!("nrf52840");
    nrf.connect(0, TRIGGERED, TIMERS[0] + COUNT);
    nrf.start_counter(TIMERS[0]);
    for turn in 0..3 {
        nrf.write(EGU, 1);
        nrf.until(10 * (turn + 1));
    }
    nrf.write(TRIGGERED, 1);
    nrf.until(100);
    nrf.write(TIMERS[0] + CAPTURE, 1);
    assert_eq!(nrf.read(TIMERS[0] + CC), 3, "a register that is written is no event");
}

#[test]
fn ps_6_16_events_propagate_through_chained_channels_to_one_task() {
    let mut nrf = machine!("nrf52840");
    nrf.connect(0, TRIGGERED, EGU + 4);
    nrf.connect(1, TRIGGERED + 4, EGU + 8);
    nrf.connect(2, TRIGGERED + 8, TIMERS[0] + CAPTURE);
    // Two channels that trigger one task in the same cycle trigger it once.
    nrf.connect(4, TRIGGERED, TIMERS[1] + COUNT);
    nrf.connect(5, TRIGGERED, TIMERS[1] + COUNT);
    nrf.start_counter(TIMERS[1]);
    nrf.start_timer(TIMERS[0]);
    nrf.write(EGU, 1);
    let copy = nrf.0.clone();
    for machine in [nrf.0, copy] {
        let mut nrf = Rig(machine);
        nrf.until(12);
        assert_eq!((nrf.read(TRIGGERED + 8), nrf.read(TIMERS[0] + CC)), (1, 3));
        nrf.write(TIMERS[1] + CAPTURE, 1);
        assert_eq!(nrf.read(TIMERS[1] + CC), 1);
    }
}

#[test]
fn ps_6_16_groups_are_enabled_by_tasks_and_enable_has_priority() {
    let mut nrf = machine!("nrf52840");
    let (enable, disable) = (PPI, PPI + 4);
    nrf.write(PPI + 0x800, 1 << 8 | 1 << 9);
    nrf.write(PPI + 0x804, 1 << 9);
    nrf.write(enable, 1);
    assert_eq!(nrf.read(ENABLE_SET), 1 << 8 | 1 << 9);
    nrf.write(disable, 1);
    assert_eq!(nrf.read(ENABLE_SET), 0);
    nrf.connect(0, TRIGGERED, enable);
    nrf.write(EGU, 1);
    nrf.until(10);
    assert_eq!(nrf.read(PPI + 0x500), 1 << 8 | 1 << 9 | 1);
    // CHG[0].DIS and CHG[1].EN in the same cycle.
    nrf.connect(1, TRIGGERED + 4, disable);
    nrf.connect(2, TRIGGERED + 4, PPI + 8);
    nrf.write(EGU + 4, 1);
    nrf.until(20);
    assert_eq!(nrf.read(PPI + 0x500), 1 << 9 | 0b111);
}

#[test]
fn ps_6_16_1_channels_from_20_on_have_fixed_ends() {
    let mut nrf = machine!("nrf52840");
    let (rtc, channel) = (0x4000_B000, PPI + 0x510 + 8 * 31);
    nrf.write(channel, 0);
    assert_eq!([0, 4].map(|at| nrf.read(channel + at)), [rtc + 0x140, TIMERS[0]]);
    nrf.write(ENABLE_SET, 1 << 31);
    nrf.write(rtc + CC, 1);
    nrf.write(rtc, 1);
    let tick = 64_000_000_u64.div_ceil(32_768) + 1;
    nrf.until(tick + 100);
    nrf.write(TIMERS[0] + CAPTURE, 1);
    assert_eq!(nrf.read(TIMERS[0] + CC), 0, "EVTEN does not have the event (PS, 6.22.5)");
    nrf.write(rtc + 0x344, 1 << 16);
    nrf.write(rtc + 8, 1);
    nrf.until(2 * tick + 99 + 4 + 64);
    nrf.write(TIMERS[0] + CAPTURE, 1);
    assert_eq!(nrf.read(TIMERS[0] + CC), 1, "a microsecond since it has begun");
    assert_eq!(nrf.unmodelled(), []);
}

#[test]
fn unmodelled_channel_ends_are_reported_when_connected() {
    let mut nrf = machine!("nrf52840");
    let (ready, send, sleep) = (0x4000_1100, 0x4000_1000, 0x4000_0114);
    nrf.write(PPI + 0x510, TIMERS[0] + COMPARE);
    nrf.write(PPI + 0x514, send);
    assert_eq!(nrf.unmodelled(), []);
    nrf.write(ENABLE_SET, 1);
    assert_eq!(nrf.unmodelled(), [send]);
    // An event that is not connected yet; one that the model never raises; an event's address in place of a
    // task's.
    nrf.write(PPI + 0x518, ready);
    nrf.write(ENABLE_SET, 2);
    assert_eq!(nrf.unmodelled(), [send]);
    nrf.write(PPI + 0x51C, TIMERS[0]);
    assert_eq!(nrf.unmodelled(), [send, ready]);
    nrf.connect(2, sleep, TIMERS[0] + COMPARE);
    assert_eq!(nrf.unmodelled(), [sleep, send, ready, TIMERS[0] + COMPARE]);
    // By a fixed channel, enabled by a group that another channel enables.
    let mut nrf = machine!("nrf52840");
    nrf.write(PPI + 0x800, 1 << 20);
    nrf.connect(0, TRIGGERED, PPI);
    nrf.write(EGU, 1);
    nrf.until(10);
    assert_eq!(nrf.unmodelled(), [send]);
    let mut nrf = machine!("nrf52840");
    nrf.0.set_strictness(Strictness::Strict);
    let refused = nrf.0.cortex_m_state().write_peripheral(ENABLE_SET, 1 << 20, u32::MAX);
    assert!(refused.is_err());
}

#[test]
fn ps_6_34_2_endtx_can_stop_the_transmitter_through_a_channel() {
    let mut nrf = machine!("nrf52840");
    nrf.enable_uarte();
    nrf.connect(0, UARTE + 0x120, UARTE + 0x0C);
    let (done, stopped) = (UARTE + 0x120, UARTE + 0x158);
    // An empty transfer, which sets TXSTOPPED.
    nrf.send(b"");
    nrf.until(20);
    assert_eq!([done, stopped].map(|event| nrf.read(event)), [1, 1]);
    for (at, byte) in [b"o", b"k"].into_iter().enumerate() {
        let begin = 1000 * (at as u64 + 1);
        nrf.until(begin);
        nrf.clear(&[done, stopped]);
        nrf.send(byte);
        nrf.until(begin + FRAME - 1);
        assert_eq!([done, stopped].map(|event| nrf.read(event)), [0, 0]);
        nrf.until(begin + FRAME + 3);
        assert_eq!(nrf.read(done), 1);
        nrf.until(begin + FRAME + 4);
        assert_eq!((nrf.read(stopped), nrf.read(UARTE + 0x54C)), (1, 1));
    }
    assert_eq!((nrf.0.take_console(), nrf.unmodelled()), (b"ok".to_vec(), vec![]));
}

#[test]
fn ps_6_20_no_memory_answers_custom_instructions_of_qspi() {
    const QSPI: u32 = 0x4002_9000;
    let mut nrf = machine!("nrf52840");
    nrf.write(QSPI, 1);
    assert_eq!(nrf.read(QSPI + 0x100), 1, "READY after ACTIVATE");
    nrf.write(QSPI + 0x100, 0);
    // Read JEDEC id: three bytes.
    nrf.write(QSPI + 0x634, 4 << 8 | 0x9F);
    let (ready, data) = (nrf.read(QSPI + 0x100), nrf.read(QSPI + 0x638));
    assert_eq!((ready, data, nrf.unmodelled()), (1, u32::MAX, vec![]));
    nrf.write(QSPI + 4, 1);
    assert_eq!(nrf.unmodelled(), [QSPI + 4], "READSTART reads nothing");
}

#[test]
fn ps_6_34_2_txdrdy_is_raised_after_each_byte_and_stoptx_ends_a_transfer_early() {
    let mut nrf = machine!("nrf52840");
    nrf.enable_uarte();
    nrf.connect(0, UARTE + 0x11C, TIMERS[0] + COUNT);
    nrf.start_counter(TIMERS[0]);
    nrf.send(b"hello");
    nrf.until(3 * FRAME + 10);
    nrf.write(TIMERS[0] + CAPTURE, 1);
    assert_eq!(nrf.read(TIMERS[0] + CC), 3);
    assert_eq!((nrf.read(UARTE + 0x120), nrf.unmodelled()), (0, vec![]));
    nrf.write(UARTE + 0x0C, 1);
    assert_eq!(nrf.unmodelled(), [UARTE + 0x0C], "the console has the last byte, too");
    nrf.until(4 * FRAME + 10);
    nrf.write(TIMERS[0] + CAPTURE, 1);
    assert_eq!(nrf.read(TIMERS[0] + CC), 4);
    let ended = [0x120, 0x158, 0x54C].map(|register| nrf.read(UARTE + register));
    assert_eq!(ended, [1, 1, 4], "ENDTX, TXSTOPPED, AMOUNT");
}

#[test]
fn ps_6_34_3_bytes_fill_the_buffer_and_raise_endrx() {
    let mut nrf = machine!("nrf52840");
    nrf.0.connect_uart(Some("UARTE0"), b"hello").expect("it has one");
    nrf.enable_uarte();
    nrf.write(UARTE + 0x304, 1 << 4);
    nrf.receive(RAM, 4);
    // PTR is double-buffered from RXSTARTED on.
    assert_eq!(nrf.read(UARTE + 0x14C), 1);
    nrf.write(UARTE + 0x534, RAM + 8);
    nrf.until(3 * FRAME + 1);
    assert_eq!((nrf.0.peek(RAM, 4), nrf.read(UARTE + 0x108)), (b"hel\xA5".to_vec(), 1));
    nrf.until(4 * FRAME);
    assert!(!nrf.pending(2));
    nrf.until(4 * FRAME + 1);
    assert!(nrf.pending(2), "ENDRX");
    assert_eq!((nrf.0.peek(RAM, 4), nrf.read(UARTE + 0x53C)), (b"hell".to_vec(), 4));
    nrf.until(10_000);
    assert_eq!(nrf.0.unread_input(Some("UARTE0")), 1, "nobody receives it");
    nrf.write(UARTE, 1);
    nrf.until(11_000);
    assert_eq!(nrf.0.peek(RAM + 8, 1), b"o");
    assert_eq!((nrf.0.unread_input(Some("UARTE0")), nrf.unmodelled()), (0, vec![]));
}

#[test]
fn ps_6_34_3_stoprx_ends_the_buffer_before_rxto_and_flushrx_empties_the_fifo() {
    let mut nrf = machine!("nrf52840");
    nrf.0.connect_uart(None, b"abcd").expect("it has one");
    nrf.enable_uarte();
    let (done, stopped, amount) = (UARTE + 0x110, UARTE + 0x144, UARTE + 0x53C);
    nrf.receive(RAM, 8);
    nrf.until(FRAME + 100);
    nrf.write(UARTE + 4, 1);
    // The byte already in transit arrives, and the next one is held back; RXTO follows after four frames.
    nrf.until(5 * FRAME + 99);
    assert_eq!([done, stopped].map(|event| nrf.read(event)), [0, 0]);
    nrf.until(5 * FRAME + 101);
    assert_eq!([done, stopped, amount].map(|register| nrf.read(register)), [1, 1, 2]);
    assert_eq!((nrf.0.peek(RAM, 3), nrf.0.unread_input(None)), (b"ab\xA5".to_vec(), 2));
    nrf.clear(&[done, stopped]);
    nrf.write(UARTE + 0x2C, 1);
    assert_eq!([done, stopped, amount].map(|register| nrf.read(register)), [1, 0, 0]);
    nrf.write(UARTE + 4, 1);
    nrf.until(20_000);
    assert_eq!(nrf.read(stopped), 0, "it was stopped already");
}

#[test]
fn ps_6_34_shorts_start_and_stop_the_receiver_at_the_end_of_a_buffer() {
    let mut nrf = machine!("nrf52840");
    nrf.0.connect_uart(None, b"abcdef").expect("it has one");
    nrf.enable_uarte();
    let (done, stopped) = (UARTE + 0x110, UARTE + 0x144);
    nrf.write(UARTE + 0x200, 1 << 5);
    nrf.receive(RAM, 2);
    nrf.write(UARTE + 0x534, RAM + 2);
    nrf.until(2 * FRAME + 1);
    assert_eq!((nrf.read(done), nrf.0.peek(RAM, 4)), (1, b"ab\xA5\xA5".to_vec()));
    // The second buffer was started without delay; it is the last one.
    nrf.write(UARTE + 0x200, 1 << 6);
    nrf.until(4 * FRAME + 1);
    assert_eq!((nrf.0.peek(RAM, 4), nrf.read(stopped)), (b"abcd".to_vec(), 0));
    nrf.until(8 * FRAME + 1);
    assert_eq!((nrf.read(stopped), nrf.0.unread_input(None)), (1, 2));
}

#[test]
fn a_buffered_driver_counts_bytes_and_chains_buffers_by_channels() {
    // As embassy-nrf does it: RXDRDY is counted, and ENDRX starts the next buffer and disables its own
    // channel.
    let mut nrf = machine!("nrf52840");
    nrf.0.connect_uart(None, b"0123456").expect("it has one");
    nrf.enable_uarte();
    nrf.start_counter(TIMERS[1]);
    nrf.connect(0, UARTE + 0x108, TIMERS[1] + COUNT);
    nrf.connect(1, UARTE + 0x110, UARTE);
    nrf.write(PPI + 0x800, 1 << 1);
    nrf.write(PPI + 0x910 + 4, PPI + 4);
    nrf.receive(RAM, 3);
    nrf.write(UARTE + 0x534, RAM + 3);
    nrf.until(20 * FRAME);
    nrf.write(TIMERS[1] + CAPTURE, 1);
    assert_eq!((nrf.read(TIMERS[1] + CC), nrf.0.peek(RAM, 7)), (6, b"012345\xA5".to_vec()));
    assert_eq!((nrf.read(PPI + 0x500), nrf.unmodelled()), (1, vec![]));
}

#[test]
fn ps_6_34_1_easydma_accesses_ram_only() {
    let mut nrf = machine!("nrf52840");
    nrf.0.connect_uart(None, b"a").expect("it has one");
    nrf.enable_uarte();
    nrf.receive(0x1000, 1);
    nrf.until(FRAME + 1);
    assert_eq!((nrf.0.peek(0x1000, 1), nrf.unmodelled()), (vec![0xFF], vec![0x1000]));
}

#[test]
fn ps_6_10_1_edges_of_pins_are_events() {
    let mut nrf = machine!("nrf52840");
    let pulse = |begin| [(begin, Level::High), (begin + 100, Level::Low)];
    nrf.drive("P0.11", &[pulse(1000), pulse(2000), pulse(3000)].concat());
    nrf.drive("P1.2", &pulse(1500));
    let input = GPIOTE + 0x100;
    let config = |polarity: u32, port: u32, pin: u32| polarity << 16 | port << 13 | pin << 8 | 1;
    // LoToHi, HiToLo and Toggle of one pin, each with an event; LoToHi of another port's pin.
    for (channel, config) in [(0, config(1, 0, 11)), (1, config(2, 0, 11)), (3, config(1, 1, 2))] {
        nrf.write(GPIOTE + 0x510 + 4 * channel, config);
    }
    nrf.write(GPIOTE + 0x304, 1 << 1);
    nrf.connect(0, input, TIMERS[0] + CAPTURE);
    nrf.start_timer(TIMERS[0]);
    nrf.until(1001);
    assert_eq!([0, 4, 12].map(|event| nrf.read(input + event)), [1, 0, 0]);
    nrf.until(1099);
    assert!(!nrf.pending(6));
    nrf.until(1100);
    assert!(nrf.pending(6), "IN[1]");
    assert_eq!(nrf.read(TIMERS[0] + CC), 1003 / 4, "of the edge");
    nrf.until(1500);
    assert_eq!(nrf.read(input + 12), 1);
    // Both edges.
    nrf.write(GPIOTE + 0x510, config(3, 0, 11));
    nrf.until(2200);
    assert_eq!(nrf.read(TIMERS[0] + CC), 2103 / 4);
    // Neither edge.
    nrf.write(GPIOTE + 0x510, config(0, 0, 11));
    nrf.until(3200);
    assert_eq!(nrf.read(TIMERS[0] + CC), 2103 / 4);
    assert_eq!(nrf.unmodelled(), []);
}

#[test]
fn ps_6_10_1_tasks_drive_a_pin_and_override_out() {
    let mut nrf = machine!("nrf52840");
    let (out, input) = (GPIO + 0x504, GPIO + 0x510);
    // Channel 2: task mode, P0.13, an output whose input is connected, toggled, high at first.
    nrf.write(GPIO + 0x700 + 4 * 13, 1);
    nrf.write(GPIOTE + 0x518, 1 << 20 | 3 << 16 | 13 << 8 | 3);
    let level = |nrf: &mut Rig| nrf.read(input) >> 13 & 1;
    assert_eq!((level(&mut nrf), nrf.read(out)), (1, 0));
    nrf.write(GPIOTE + 0x68, 1);
    assert_eq!(level(&mut nrf), 0, "CLR");
    nrf.write(GPIOTE + 0x38, 1);
    assert_eq!(level(&mut nrf), 1, "SET");
    nrf.write(TIMERS[0] + CC, 100);
    nrf.connect(0, TIMERS[0] + COMPARE, GPIOTE + 8);
    nrf.start_timer(TIMERS[0]);
    nrf.until(403);
    assert_eq!(level(&mut nrf), 1);
    nrf.until(404);
    assert_eq!(level(&mut nrf), 0, "OUT");
    nrf.write(out, 1 << 13);
    assert_eq!(level(&mut nrf), 0);
    nrf.write(GPIOTE + 0x518, 0);
    assert_eq!(level(&mut nrf), 1, "GPIO's again");
}

#[test]
fn ps_6_10_1_simultaneous_tasks_apply_out_then_clr_then_set() {
    let mut nrf = machine!("nrf52840");
    let level = |nrf: &mut Rig| nrf.read(GPIO + 0x510) & 1;
    nrf.write(GPIO + 0x700, 0);
    let (out, set, clear) = (GPIOTE, GPIOTE + 0x30, GPIOTE + 0x60);
    for (channel, task) in [(0, out), (1, set), (2, clear)] {
        nrf.connect(channel, TRIGGERED + 4 * channel, task);
    }
    nrf.connect(4, TRIGGERED + 12, set);
    nrf.connect(5, TRIGGERED + 12, clear);
    nrf.connect(6, TRIGGERED + 16, out);
    nrf.connect(7, TRIGGERED + 16, set);
    nrf.write(GPIOTE + 0x510, 1 << 20 | 3 << 16 | 3);
    nrf.write(EGU + 12, 1);
    nrf.until(10);
    assert_eq!(level(&mut nrf), 0, "CLR rather than SET");
    nrf.write(EGU + 4, 1);
    nrf.until(20);
    assert_eq!(level(&mut nrf), 1);
    nrf.write(EGU + 16, 1);
    nrf.until(30);
    assert_eq!(level(&mut nrf), 0, "OUT, which toggles, rather than SET");
}

#[test]
fn ps_6_9_1_sensed_pins_raise_port_once_until_all_are_inactive() {
    let mut nrf = machine!("nrf52840");
    let (port, latch) = (GPIOTE + 0x17C, GPIO + 0x520);
    nrf.drive("P0.11", &[(0, Level::High), (1000, Level::Low), (2000, Level::High)]);
    nrf.drive("P0.12", &[(1500, Level::High), (3000, Level::Low)]);
    nrf.write(GPIO + 0x700 + 4 * 11, 3 << 16);
    nrf.write(GPIO + 0x700 + 4 * 12, 2 << 16);
    nrf.write(GPIOTE + 0x304, 1 << 31);
    nrf.until(998);
    assert_eq!((nrf.pending(6), nrf.read(port)), (false, 0));
    nrf.until(1000);
    assert!(nrf.pending(6));
    assert_eq!((nrf.read(port), nrf.read(latch)), (1, 1 << 11));
    nrf.write(port, 0);
    nrf.until(2500);
    assert_eq!((nrf.read(port), nrf.read(latch)), (0, 3 << 11), "DETECT has stayed high");
    // A latch bit whose level is still sensed is not cleared.
    nrf.write(latch, 3 << 11);
    assert_eq!(nrf.read(latch), 1 << 12);
    nrf.until(3100);
    nrf.write(latch, 3 << 11);
    assert_eq!(nrf.read(latch), 0);
    // A pin whose level is already the sensed one when sensing begins.
    nrf.write(GPIO + 0x700 + 4 * 11, 2 << 16);
    assert_eq!((nrf.read(port), nrf.read(latch)), (1, 1 << 11));
}

#[test]
fn ps_6_9_1_in_latched_mode_port_is_raised_until_every_latch_is_cleared() {
    let mut nrf = machine!("nrf52840");
    let (port, latch) = (GPIOTE + 0x17C, GPIO + 0x820);
    nrf.drive("P1.3", &[(1000, Level::High), (1100, Level::Low)]);
    nrf.drive("P1.4", &[(1200, Level::High), (1300, Level::Low)]);
    nrf.write(GPIO + 0x824, 1);
    for pin in [3, 4] {
        nrf.write(GPIO + 0xA00 + 4 * pin, 2 << 16);
    }
    nrf.until(1150);
    assert_eq!((nrf.read(port), nrf.read(latch)), (1, 1 << 3));
    nrf.write(port, 0);
    nrf.until(1400);
    assert_eq!((nrf.read(port), nrf.read(latch)), (0, 3 << 3));
    nrf.write(latch, 1 << 3);
    assert_eq!((nrf.read(port), nrf.read(latch)), (1, 1 << 4), "one is left");
    nrf.write(port, 0);
    nrf.write(latch, 1 << 4);
    assert_eq!((nrf.read(port), nrf.read(latch)), (0, 0));
}

#[test]
fn ps_6_9_undriven_inputs_follow_their_pull_resistor_and_dir_is_in_pin_cnf() {
    let mut nrf = machine!("nrf52840");
    let (input, direction, config) = (GPIO + 0x810, GPIO + 0x814, GPIO + 0xA00);
    nrf.write(config, 3 << 2);
    assert_eq!(nrf.read(input), 1);
    nrf.drive("P1.0", &[]);
    assert_eq!(nrf.read(input), 0, "something drives it");
    nrf.write(config + 4, 1);
    nrf.write(direction + 4, 1 << 2);
    assert_eq!((nrf.read(direction), nrf.read(config + 8)), (0b110, 3));
    nrf.write(GPIO + 0x808, 0b110);
    assert_eq!(nrf.read(input), 0b010, "P1.2's input is disconnected");
    nrf.write(config + 8, 1);
    assert_eq!(nrf.read(input), 0b110);
    nrf.write(GPIO + 0x80C, 0b010);
    assert_eq!((nrf.read(input), nrf.read(GPIO + 0x804)), (0b100, 0b100));
    nrf.write(config + 8, 0);
    assert_eq!(nrf.read(input), 0, "OUT does not matter to an input");
    nrf.write(config + 8, 4 << 8 | 3 << 2 | 1);
    nrf.write(GPIO + 0x80C, 0b100);
    assert_eq!(nrf.read(input), 0b100, "pulled up");
    nrf.write(config + 8, 6 << 8 | 1 << 2 | 1);
    nrf.write(GPIO + 0x808, 0b100);
    assert_eq!(nrf.read(input), 0, "pulled down");
}

#[test]
fn ps_6_9_disconnected_inputs_read_as_0_and_sense_nothing() {
    let mut nrf = machine!("nrf51822");
    let (input, config, port) = (GPIO + 0x510, GPIO + 0x700, GPIOTE + 0x17C);
    nrf.drive("P0.3", &[(0, Level::High)]);
    nrf.drive("P0.4", &[]);
    assert_eq!(nrf.read(input), 0, "after a reset");
    nrf.write(config + 4 * 3, 2 << 16 | 2);
    nrf.write(config + 4 * 4, 3 << 16 | 2);
    nrf.write(config + 4 * 5, 3 << 2 | 2);
    assert_eq!((nrf.read(input), nrf.read(port)), (0, 0));
    nrf.write(config + 4 * 5, 3 << 2);
    assert_eq!((nrf.read(input), nrf.read(port)), (1 << 5, 0));
    nrf.write(config + 4 * 4, 3 << 16);
    assert_eq!((nrf.read(input), nrf.read(port)), (1 << 5, 1));
    nrf.write(config + 4 * 3, 2 << 16);
    assert_eq!(nrf.read(input), 1 << 3 | 1 << 5);
}

#[test]
fn reset_disconnects_all_channels() {
    let mut nrf = machine!("nrf52840");
    let idle = [0x2000_1000_u32, 9, 0xE7FE].map(u32::to_le_bytes).concat();
    nrf.0.load(&Image::from_raw(&idle, 0).expect("an image")).expect("it fits");
    nrf.connect(0, TRIGGERED, EGU + 4);
    nrf.write(EGU, 1);
    nrf.0.reset().expect("vectors");
    nrf.until(10);
    let after = [PPI + 0x500, PPI + 0x510, TRIGGERED, TRIGGERED + 4].map(|at| nrf.read(at));
    assert_eq!(after, [0; 4]);
}

/// Firmware that sleeps behaves the same in one run and in slices: a pin captures a timer and wakes the
/// core, each capture is sent, and the end of sending stops the transmitter.
#[test]
fn programs_sleep_while_ppi_channels_work() {
    // cpsid i; enable GPIOTE's interrupt; then forever: wfi; STARTTX; wait for TXSTOPPED, clear it, IN[0]
    // and the pending interrupt.
    let program = [
        0xB672_u16, 0x4809, 0x2140, 0x6001, 0x4D08, 0x4A09, 0x4B09, 0x2601, 0x2700, 0xBF30, 0x60AE,
        0x6814, 0x2C00, 0xD0FC, 0x6017, 0x601F, 0x681C, 0x4805, 0x6001, 0xE7F4, 0xE100, 0xE000,
        0x2000, 0x4000, 0x2158, 0x4000, 0x6100, 0x4000, 0xE280, 0xE000,
    ];
    let mut bytes = [0x2000_1000_u32, 9].map(u32::to_le_bytes).concat();
    bytes.extend(program.iter().flat_map(|half| half.to_le_bytes()));
    let mut nrf = machine!("nrf52840");
    nrf.0.load(&Image::from_raw(&bytes, 0).expect("an image")).expect("it fits");
    let pulses = (1..=5_u64)
        .flat_map(|turn| [(10_000 * turn + 7, Level::High), (10_000 * turn + 3_000, Level::Low)]);
    nrf.drive("P0.11", &pulses.collect::<Vec<_>>());
    nrf.enable_uarte();
    nrf.write(UARTE + 0x544, RAM);
    nrf.0.poke(RAM, b"!").expect("RAM");
    nrf.write(UARTE + 0x548, 1);
    nrf.write(GPIOTE + 0x510, 1 << 16 | 11 << 8 | 1);
    nrf.write(GPIOTE + 0x304, 1);
    nrf.connect(0, GPIOTE + 0x100, TIMERS[0] + CAPTURE);
    nrf.connect(1, UARTE + 0x120, UARTE + 0x0C);
    nrf.start_timer(TIMERS[0]);
    let mut sliced = Rig(nrf.0.clone());
    // After the last pulse nothing is left to wake the core.
    assert_eq!(nrf.0.run(Cycles(60_000)), Stop::Asleep);
    let mut slices = (0..=60_000).step_by(37).map(|until| sliced.0.run(Cycles(until)));
    assert_eq!(slices.find(|stop| *stop != Stop::Limit), Some(Stop::Asleep));
    assert_eq!(nrf.0.cycles(), sliced.0.cycles());
    for mut machine in [nrf, sliced] {
        assert_eq!(machine.0.take_console(), b"!!!!!");
        assert_eq!(machine.read(TIMERS[0] + CC), 50_010 / 4);
        assert_eq!(machine.unmodelled(), []);
    }
}
