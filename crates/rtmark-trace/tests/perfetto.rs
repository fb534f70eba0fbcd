//! What is written is read back by another reader of protobuf, and says what happened.

#[path = "../../rtmark-sim/tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;

use quick_protobuf::{BytesReader, MessageInfo, MessageRead, Reader};
use rtmark_sim::{CoreKind, Cycles, Image, Machine};
use rtmark_trace::{Recorder, SpanProbe, Tasks};
use rtmark_units::Hertz;
use support::*;

/// The fields of a message by their numbers: numbers, or bytes.
#[derive(Debug, Default)]
struct Fields {
    numbers: BTreeMap<u32, Vec<u64>>,
    bytes: BTreeMap<u32, Vec<Vec<u8>>>,
}

impl MessageInfo for Fields {
    const PATH: &'static str = "any";
}

impl<'a> MessageRead<'a> for Fields {
    fn from_reader(reader: &mut BytesReader, bytes: &'a [u8]) -> quick_protobuf::Result<Self> {
        let mut fields = Self::default();
        while !reader.is_eof() {
            let tag = reader.next_tag(bytes)?;
            let field = tag >> 3;
            match tag & 7 {
                0 => fields.numbers.entry(field).or_default().push(reader.read_uint64(bytes)?),
                2 => {
                    let read = reader.read_bytes(bytes)?.to_vec();
                    fields.bytes.entry(field).or_default().push(read);
                }
                other => panic!("wire type {other} is not written"),
            }
        }
        Ok(fields)
    }
}

impl Fields {
    fn of(bytes: &[u8]) -> Self {
        Reader::from_bytes(bytes.to_vec()).read(Self::from_reader).expect("protobuf")
    }

    fn number(&self, field: u32) -> Option<u64> {
        self.numbers.get(&field)?.first().copied()
    }

    fn text(&self, field: u32) -> Option<String> {
        Some(String::from_utf8(self.bytes.get(&field)?.first()?.clone()).expect("UTF-8"))
    }

    fn message(&self, field: u32) -> Option<Self> {
        Some(Self::of(self.bytes.get(&field)?.first()?))
    }
}

/// Reads a trace as its users do: slices as (track, name, from, to), in the order of their ends;
/// panics where one ends that has not begun.
fn slices(bytes: &[u8]) -> Vec<(String, String, u64, u64)> {
    let (mut tracks, mut open) = (BTreeMap::new(), BTreeMap::<u64, Vec<(String, u64)>>::new());
    let (mut found, mut last) = (Vec::new(), 0);
    for packet in &Fields::of(bytes).bytes[&1] {
        let packet = Fields::of(packet);
        assert_eq!(packet.number(10), Some(1), "one sequence");
        if let Some(track) = packet.message(60) {
            let name = track.text(2).or_else(|| track.message(3)?.text(6)).expect("a name");
            assert!(tracks.insert(track.number(1).expect("a uuid"), name).is_none());
            continue;
        }
        let (event, time) =
            (packet.message(11).expect("an event"), packet.number(8).expect("a time"));
        assert!(time >= last, "in order");
        last = time;
        let track = event.number(11).expect("a track");
        let name = tracks.get(&track).expect("described before");
        let stack = open.entry(track).or_default();
        match event.number(9) {
            Some(1) => stack.push((event.text(23).expect("a name"), time)),
            Some(2) => {
                let (slice, since) = stack.pop().expect("begun");
                found.push((name.clone(), slice, since, time));
            }
            Some(3) => assert!(event.text(23).is_some()),
            other => panic!("{other:?}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "everything ends");
    found
}

/// Masks, sleeps until SysTick comes, and is interrupted by interrupt 0 in SysTick's handler.
fn program() -> Firmware {
    let mut firmware = Firmware::new();
    firmware.store(SHPR3, 0x80C0_0000).store(NVIC_IPR, 0).enable(1);
    firmware.store(SYST_RVR, 399).store(SYST_CVR, 0).store(SYST_CSR, 7);
    let top = firmware.here();
    firmware.mark("begin").op(&[CPSID_I]).nops(5).op(&[CPSIE_I]).mark("end").op(&[WFI]);
    let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
    firmware.op(&[0xE000 | back as u16 & 0x7FF]);
    firmware.handler(15).store(NVIC_ISPR, 1).nops(8).op(&[BX_LR]);
    firmware.handler(16).nops(3).op(&[BX_LR]);
    firmware
}

#[test]
fn an_independent_reader_finds_handlers_masks_sleep_and_spans() {
    let firmware = program();
    let mut machine = Machine::new(&soc(CoreKind::CortexM3));
    machine.poke(0, &firmware.image()).expect("in flash");
    machine.reset().expect("vectors");
    let image = Image::default();
    let probe = |mark: &str, begins| SpanProbe {
        name: "masked".into(),
        address: firmware.address(mark),
        begins,
    };
    let tasks = Tasks::new(&[], &image, None);
    let probes = [probe("begin", true), probe("end", false)];
    let mut recorder = Recorder::new(&machine, &image, tasks, probes);
    let _ = machine.run_observed(Cycles(2_000), &mut recorder);
    let timeline = recorder.finish(machine.cycles().0);
    // At 1 GHz a cycle is a nanosecond.
    let bytes = timeline.to_perfetto("a program", Hertz(1_000_000_000));
    let found = slices(&bytes);
    let of = |track: &str| found.iter().filter(|slice| slice.0 == track).collect::<Vec<_>>();

    // Four ticks, and in each the interrupt within SysTick.
    let handlers = of("interrupts");
    assert_eq!(handlers.len(), 8, "{handlers:?}");
    for pair in handlers.chunks(2) {
        let [inner, outer] = pair else { panic!("{pair:?}") };
        assert_eq!((inner.1.as_str(), outer.1.as_str()), ("IRQ 0", "SysTick"));
        assert!(outer.2 < inner.2 && inner.3 < outer.3, "{pair:?}");
    }
    // Masked for five NOPs and CPSIE, as the span says, which holds CPSID besides.
    let (masks, spans) = (of("masked"), of("masked").len());
    assert!(spans >= 8, "{masks:?}");
    let primask: Vec<_> = masks.iter().filter(|slice| slice.1 == "PRIMASK").collect();
    let span: Vec<_> = masks.iter().filter(|slice| slice.1 == "masked").collect();
    assert_eq!(primask.len(), span.len());
    for (mask, span) in primask.iter().zip(&span) {
        assert!(span.2 < mask.2 && mask.3 == span.3, "{mask:?} in {span:?}");
        assert!((6..12).contains(&(mask.3 - mask.2)), "{mask:?}");
    }
    // Asleep up to each tick.
    let asleep = of("core");
    assert!(asleep.len() >= 4, "{asleep:?}");
    assert!(asleep.iter().all(|slice| slice.1 == "asleep"));
    for (sleep, tick) in asleep.iter().zip(handlers.chunks(2)) {
        assert!(sleep.3 <= tick[1].2 && sleep.2 < sleep.3, "{sleep:?} {tick:?}");
    }
}
