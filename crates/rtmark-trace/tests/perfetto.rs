//! Reads the output with another protobuf reader and checks that it reports what happened.

mod reader;
#[path = "../../rtmark-sim/tests/it/support/mod.rs"]
mod support;

use reader::{Event, events};
use rtmark_sim::{ClockHistory, CoreKind, Cycles, Hit, Image, Machine, Watch};
use rtmark_trace::{Mark, Recorder, SpanEdge, Tasks, Timeline};
use rtmark_units::Hertz;
use support::*;

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
    let [_, end] =
        ["begin", "end"].map(|mark| machine.watch(Watch::Execute(firmware.address(mark))));
    let tasks = Tasks::new(&[], &image, None);
    let mut recorder = Recorder::new(&machine, &image, None, tasks);
    let _ = machine.run_observed(Cycles(2_000), &mut recorder);
    let mut timeline = recorder.finish(machine.cycles().0);
    let edge = |hit: Hit| {
        let (at, begins) = (hit.cycle.0, hit.watch != end);
        SpanEdge { name: "masked".into(), at, begins }
    };
    timeline.add_spans(machine.take_hits().into_iter().map(edge), machine.cycles().0);
    // At 1 GHz a cycle is a nanosecond.
    let bytes = timeline.to_perfetto("a program", &ClockHistory::new(Hertz(1_000_000_000)));
    let found = events(&bytes);
    let is_slice = |event: &&Event| event.from < event.to;
    let of = |track: &str| {
        found.iter().filter(is_slice).filter(|slice| slice.track == track).collect::<Vec<_>>()
    };
    assert!(found.iter().filter(is_slice).all(|slice| slice.cycles == slice.to - slice.from));

    // Four ticks, each with the interrupt nested in SysTick.
    let handlers = of("interrupts");
    assert_eq!(handlers.len(), 8, "{handlers:?}");
    for pair in handlers.chunks(2) {
        let [inner, outer] = pair else { panic!("{pair:?}") };
        assert_eq!((inner.name.as_str(), outer.name.as_str()), ("IRQ 0", "SysTick"));
        assert!(outer.from < inner.from && inner.to < outer.to, "{pair:?}");
    }
    // Masked for five NOPs and CPSIE; the span also contains CPSID.
    let (masks, spans) = (of("masked"), of("masked").len());
    assert!(spans >= 8, "{masks:?}");
    let primask: Vec<_> = masks.iter().filter(|slice| slice.name == "PRIMASK").collect();
    let span: Vec<_> = masks.iter().filter(|slice| slice.name == "masked").collect();
    assert_eq!(primask.len(), span.len());
    for (mask, span) in primask.iter().zip(&span) {
        assert!(span.from < mask.from && mask.to == span.to, "{mask:?} in {span:?}");
        assert!((6..12).contains(&(mask.to - mask.from)), "{mask:?}");
    }
    // Asleep until each tick.
    let asleep = of("core");
    assert!(asleep.len() >= 4, "{asleep:?}");
    assert!(asleep.iter().all(|slice| slice.name == "asleep"));
    for (sleep, tick) in asleep.iter().zip(handlers.chunks(2)) {
        assert!(sleep.to <= tick[1].from && sleep.from < sleep.to, "{sleep:?} {tick:?}");
    }
}

#[test]
fn spans_pair_each_end_with_the_last_beginning() {
    let edge = |name: &str, at, begins| SpanEdge { name: name.into(), at, begins };
    let edges = [
        edge("b", 3, false),
        edge("a", 5, true),
        edge("a", 7, true),
        edge("b", 8, true),
        edge("a", 10, false),
        edge("a", 10, true),
        edge("b", 8, false),
        edge("c", 12, true),
    ];
    let mut timeline = Timeline::default();
    timeline.add_spans(edges, 20);
    let spans = |name: &str| {
        let track = timeline.tracks.iter().find(|track| track.name == name).expect("a track");
        let slices = track.slices.iter().map(|slice| (slice.from, slice.to)).collect::<Vec<_>>();
        (slices, track.marks.clone())
    };
    assert_eq!(spans("a"), (vec![(7, 10), (10, 20)], Vec::new()));
    // A span of no cycles is none.
    assert_eq!(spans("b"), (Vec::new(), vec![Mark { name: "b ends".into(), at: 3 }]));
    assert_eq!(spans("c"), (vec![(12, 20)], Vec::new()));
}
