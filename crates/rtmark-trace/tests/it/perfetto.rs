//! Reads the output with another protobuf reader and checks that it reports what happened.

use rtmark_sim::{ClockHistory, CoreKind, Cycles, Hit, Image, Machine, Watch};
use rtmark_trace::{Mark, Recorder, Slice, SpanEdge, Tasks, Timeline};
use rtmark_units::Hertz;

use crate::reader::{Event, Fields, events};
use crate::support::*;

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

fn slice(name: &str, from: u64, to: u64) -> Slice {
    Slice { name: name.into(), from, to, about: vec![("why", format!("for {name}"))] }
}

#[test]
fn a_cut_timeline_has_what_is_inside() {
    let mut timeline = Timeline::default();
    let track = timeline.track("a", "task", 1);
    track.slices =
        [(0, 10), (5, 12), (10, 20), (30, 40), (40, 50)].map(|(a, b)| slice("x", a, b)).into();
    track.marks = [9, 10, 40, 41].map(|at| Mark { name: "m".into(), at }).into();
    timeline.track("a", "handler", 1).slices.push(slice("x", 0, 10));
    timeline.track("b", "task", 1).marks.push(Mark { name: "m".into(), at: 20 });
    timeline.track("c", "task", 1).slices.push(slice("x", 39, 100));
    timeline.cut(10, 40);
    let shown = timeline.tracks.iter().map(|track| {
        let slices = track.slices.iter().map(|slice| (slice.from, slice.to)).collect::<Vec<_>>();
        let marks = track.marks.iter().map(|mark| mark.at).collect::<Vec<_>>();
        (track.name.as_str(), track.category, slices, marks)
    });
    let expected = [
        ("a", "task", vec![(10, 12), (10, 20), (30, 40)], vec![10, 40]),
        ("b", "task", vec![], vec![20]),
        ("c", "task", vec![(39, 40)], vec![]),
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

/// The numbers of fields are those of Perfetto's protocol: `track_descriptor.proto` and `track_event.proto`.
#[test]
fn tracks_are_below_one_in_order_and_events_say_what_they_are() {
    let mut timeline = Timeline::default();
    timeline.track("late", "task", 2).slices.push(slice("x", 8, 11));
    let early = timeline.track("early", "mask", 1);
    early.slices.push(slice("y", 5, 9));
    early.marks.push(Mark { name: "z".into(), at: 7 });
    let bytes = timeline.to_perfetto("all", &ClockHistory::new(Hertz(500_000_000)));
    let packets: Vec<_> = Fields::of(&bytes).messages(1).collect();
    // The incremental state begins anew once.
    assert_eq!(packets.iter().filter_map(|packet| packet.number(13)).collect::<Vec<_>>(), [1]);
    assert_eq!(packets[0].number(13), Some(1));
    let tracks: Vec<_> = packets.iter().filter_map(|packet| packet.message(60)).collect();
    let [root, first, second] = &tracks[..] else { panic!("{tracks:?}") };
    assert_eq!((root.text(2).as_deref(), root.number(5)), (Some("all"), None));
    assert_eq!(root.number(11), Some(3), "explicit order");
    for (track, name, rank) in [(first, "early", 0), (second, "late", 1)] {
        assert_eq!((track.text(2).as_deref(), track.number(12)), (Some(name), Some(rank)));
        assert_eq!(track.number(5), root.number(1), "below the first one");
    }
    let uuids = [root, first, second].map(|track| track.number(1).expect("a uuid"));
    assert!(uuids[0] != uuids[1] && uuids[1] != uuids[2] && uuids[0] != uuids[2]);

    let events: Vec<_> = packets.iter().filter_map(|packet| packet.message(11)).collect();
    let about = |event: &Fields| {
        let annotations = event.messages(4).map(|annotation| {
            let value = annotation.number(3).map(|number| number.to_string());
            format!(
                "{}={}",
                annotation.text(10).expect("a name"),
                value.or(annotation.text(6)).expect("a value")
            )
        });
        annotations.collect::<Vec<_>>().join(" ")
    };
    let shown: Vec<_> = events
        .iter()
        .filter(|event| event.number(9) != Some(2))
        .map(|event| {
            (event.text(23).expect("a name"), event.text(22).expect("a category"), about(event))
        })
        .collect();
    let expected = [
        ("y", "mask", "cycle=5 cycles=4 why=for y"),
        ("z", "mask", "cycle=7"),
        ("x", "task", "cycle=8 cycles=3 why=for x"),
    ];
    let expected =
        expected.map(|(name, category, about)| (name.into(), category.into(), about.into()));
    assert_eq!(shown, expected);
    // A cycle of 500 MHz takes two nanoseconds.
    let times: Vec<_> = packets.iter().filter_map(|packet| packet.number(8)).collect();
    assert_eq!(times, [10, 14, 16, 18, 22]);
}

#[test]
fn a_slice_ends_before_the_next_one_begins_and_after_those_in_it() {
    let mut timeline = Timeline::default();
    let track = timeline.track("a", "task", 1);
    track.slices = vec![slice("outer", 0, 10), slice("inner", 4, 10), slice("next", 10, 12)];
    let bytes = timeline.to_perfetto("all", &ClockHistory::new(Hertz(1_000_000_000)));
    let found: Vec<_> = events(&bytes).into_iter().map(|it| (it.name, it.from, it.to)).collect();
    let expected = [("inner", 4, 10), ("outer", 0, 10), ("next", 10, 12)];
    assert_eq!(found, expected.map(|(name, from, to)| (name.to_owned(), from, to)));
}
