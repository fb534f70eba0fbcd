//! Answers as GDB's manual defines them, in its appendix "GDB Remote Serial Protocol".

use std::net::Shutdown;

use rtmark_sim::FaultPolicy;

use super::*;

/// Loads from 0x20000010 and stores to 0x20000014 for ever: movs r1, #0x20; lsls r1, r1, #24; ldr r2, [r1, #0x10];
/// str r2, [r1, #0x14]; b back to the load.
const COPYING: [u32; 5] = [0x2000_0400, 9, 0x0609_2120, 0x614A_690A, 0xBF00_E7FC];

/// Ends itself with status 3, by semihosting's call 0x20: movs r0, #0x20; movs r1, #0x14; bkpt 0xab. Its block is
/// at 0x14.
const EXITING: [u32; 7] = [0x2000_0400, 9, 0x2114_2020, 0xBF00_BEAB, 0, 0x2_0026, 3];

fn with_limit(
    limit: u64,
    program: &[u32],
    ask: impl FnOnce(&mut Debugger),
) -> (Machine, SessionEnd) {
    let (machine, end, heard) = conversation(machine(SOC, program), &|_| Cycles(limit), ask);
    assert_eq!(heard.lost, None);
    (machine, end)
}

/// Signals by GDB's own numbers (its include/gdb/signals.def).
#[test]
fn a_program_that_stops_by_itself_says_why() {
    let stalled = {
        let mut machine = machine(SOC, &PROGRAM);
        machine.inject_pipeline_stall(10);
        machine
    };
    let locked_up = {
        let undefined = [0x2000_0400, 0x11, 0, 0x15, 0xDE00_DE00, 0xDE00_DE00];
        let mut machine = machine(SOC, &undefined);
        machine.set_fault_policy(FaultPolicy::Deliver);
        machine
    };
    let short = |code: u32| machine(SOC, &[0x2000_0400, 9, code]);
    let stops = [
        ("a breakpoint of its own", short(0xBE00), "S05", "Breakpoint(8)"),
        ("an undefined instruction", short(0xDE00), "S0b", "0x00000008"),
        ("one in the handler of that", locked_up, "S06", "0x00000014"),
        ("an error of the simulator", stalled, "S06", "internal error: "),
        ("asleep for good", short(0xE7FD_BF30), "S11", "Asleep"),
        ("out of cycles", machine(SOC, &PROGRAM), "S18", "Limit"),
    ];
    for (name, machine, signal, reason) in stops {
        let (_, end, heard) = conversation(machine, &|_| Cycles(1_000), |debugger| {
            assert_eq!(debugger.monitor("stop"), "stopped by the debugger\n", "{name}");
            assert_eq!(debugger.send_packet("c"), signal, "{name}");
            let told = debugger.monitor("stop");
            assert!(told.contains(reason), "{name}: {told}");
            debugger.send_packet("bs");
            assert_eq!(debugger.monitor("stop"), "stopped by the debugger\n", "{name}");
            assert_eq!(debugger.send_packet("vKill;1"), "OK", "{name}");
        });
        assert_eq!((end, heard.lost), (SessionEnd::Stopped(Stop::Observer), None), "{name}");
    }
}

#[test]
fn a_program_that_ends_itself_ends_the_session_with_its_status() {
    let (_, end) = with_limit(1_000, &EXITING, |debugger| {
        assert_eq!(debugger.send_packet("c"), "W03");
    });
    assert!(matches!(end, SessionEnd::Stopped(Stop::Exit(status)) if status.0 == 3), "{end:?}");
}

#[test]
fn a_running_program_can_be_interrupted_and_goes_on() {
    let (_, end) = with_limit(u64::MAX, &PROGRAM, |debugger| {
        debugger.send("c");
        debugger.0.write_all(b"\x03").expect("connected");
        assert_eq!(debugger.answer(), "S02");
        let count = debugger.register(0);
        assert_eq!(debugger.send_packet("Z0,8,2"), "OK");
        assert!(debugger.send_packet("c").starts_with("T05"));
        assert!((count..=count + 1).contains(&debugger.register(0)));
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert_eq!(end, SessionEnd::Detached);
}

/// A program that makes its clock faster has a later limit, which is asked for when the first is reached, and
/// at no other pause.
#[test]
fn a_later_limit_moves_the_end_of_the_run() {
    let asked = AtomicUsize::new(0);
    let later = |machine: &Machine| {
        asked.fetch_add(1, Relaxed);
        Cycles(if machine.cycles().0 < 6_000_000 { 6_000_000 } else { 6_009_000 })
    };
    let (machine, end, _) = conversation(machine(SOC, &PROGRAM), &later, |debugger| {
        debugger.steps("s", 2);
        assert_eq!(debugger.send_packet("Z0,8,2"), "OK");
        assert!(debugger.send_packet("c").starts_with("T05"));
        assert_eq!(debugger.send_packet("z0,8,2"), "OK");
        assert_eq!(asked.load(Relaxed), 1);
        assert_eq!(debugger.send_packet("c"), "S18");
        assert_eq!(debugger.send_packet("D"), "OK");
    });
    assert!((6_009_000..6_009_010).contains(&machine.cycles().0), "{:?}", machine.cycles());
    assert_eq!((end, asked.load(Relaxed)), (SessionEnd::Detached, 3));
}

#[test]
fn what_cannot_be_understood_is_refused_and_the_session_goes_on() {
    with_limit(1_000, &PROGRAM, |debugger| {
        for wrong in ["mzz,4", "G00", "G0", "Z0,zz,2"] {
            assert!(debugger.send_packet(wrong).starts_with('E'), "{wrong}");
            // Between packets anything else is noise.
            debugger.0.write_all(b"\x00\xffnoise#").expect("connected");
            assert_eq!(debugger.state(), (0, 8), "{wrong}");
        }
        assert_eq!(debugger.send_packet("D"), "OK");
    });
}

#[test]
fn noise_does_not_stop_a_running_program() {
    with_limit(50_000_000, &PROGRAM, |debugger| {
        debugger.send("c");
        debugger.0.write_all(b"\xff+noise").expect("connected");
        assert_eq!(debugger.answer(), "S18");
        assert_eq!(debugger.send_packet("D"), "OK");
    });
}

/// Nothing is sent to a debugger that has gone without a word.
#[test]
fn a_lost_connection_ends_the_session() {
    let (_, end, heard) = conversation(machine(SOC, &PROGRAM), &|_| Cycles(1_000), |debugger| {
        debugger.steps("s", 1);
        debugger.0.write_all(b"+").expect("connected");
        debugger.0.shutdown(Shutdown::Write).expect("connected");
        let mut rest = Vec::new();
        let _ = (&debugger.0).take(16).read_to_end(&mut rest);
        assert_eq!(String::from_utf8_lossy(&rest), "");
    });
    assert_eq!(end, SessionEnd::Stopped(Stop::Observer));
    assert!(heard.lost.is_some());
}

/// Only one debugger is served, and no other is left waiting.
#[test]
fn a_second_debugger_is_refused() {
    with_limit(1_000, &PROGRAM, |debugger| {
        debugger.steps("s", 1);
        let address = debugger.0.peer_addr().expect("connected");
        assert!(TcpStream::connect(address).is_err());
        assert_eq!(debugger.send_packet("D"), "OK");
    });
}

#[test]
fn monitor_tells_figures() {
    let begun = beginnings(&machine(SOC, &PROGRAM), 5);
    with_limit(1_000, &PROGRAM, |debugger| {
        debugger.steps("s", 4);
        assert_eq!(debugger.monitor("instructions"), "4\n");
        assert_eq!(debugger.monitor(" cycles "), format!("{}\n", begun[4]));
        assert_eq!(debugger.monitor("exceptions"), "0\n");
        let help = debugger.monitor("help");
        for word in ["cycles", "instructions", "exceptions", "stop"] {
            assert!(help.contains(&format!("monitor {word} ")), "{help}");
        }
        assert_eq!(debugger.send_packet("D"), "OK");
    });
}

/// What an access of these bytes stops, by the packets' kinds: 2 for writes, 3 for reads, 4 for both.
#[test]
fn watchpoints_stop_accesses_of_their_kind_to_their_bytes() {
    let (load, store) = (0xC, 0xE);
    let watches = [
        ("2,20000014,4", Some((store, "watch:20000014;"))),
        ("2,20000010,4", None),
        ("3,20000010,4", Some((load, "rwatch:20000010;"))),
        ("3,20000014,4", None),
        ("4,20000010,4", Some((load, "awatch:20000010;"))),
        ("4,20000014,4", Some((store, "awatch:20000014;"))),
        ("2,20000017,1", Some((store, "watch:20000017;"))),
        ("2,20000018,4", None),
        ("3,2000000f,1", None),
        ("3,2000000f,2", Some((load, "rwatch:2000000f;"))),
    ];
    for (watch, stops) in watches {
        with_limit(300, &COPYING, |debugger| {
            assert_eq!(debugger.send_packet(&format!("Z{watch}")), "OK");
            // Twice is once: the manual asks for that.
            assert_eq!(debugger.send_packet(&format!("Z{watch}")), "OK");
            let turns: &[_] = if stops.is_some() { &["c", "c", "bc", "c"] } else { &[] };
            for turn in turns {
                let (at, reason) = stops.expect("it stops");
                let answer = debugger.send_packet(turn);
                let told = answer.starts_with("T05") && answer.contains(&format!(";{reason}"));
                assert!(told, "{watch}: {answer}");
                assert_eq!(debugger.register(15), at, "{watch}");
            }
            if stops.is_none() {
                assert!(debugger.send_packet("c").starts_with("S18"), "{watch}");
                assert!(debugger.send_packet("bc").contains("replaylog:begin"), "{watch}");
            }
            assert_eq!(debugger.send_packet(&format!("z{watch}")), "OK");
            assert_eq!(debugger.send_packet("c"), "S18", "{watch}");
            assert!(debugger.send_packet(&format!("z{watch}")).starts_with('E'), "{watch}");
            assert_eq!(debugger.send_packet("D"), "OK");
        });
    }
}

/// Software and hardware breakpoints, and where there is nothing to stop at.
#[test]
fn breakpoints_stop_before_their_instruction_until_they_are_removed() {
    for kind in [0, 1] {
        with_limit(300, &COPYING, |debugger| {
            for nowhere in ["70000000", "1000"] {
                assert!(debugger.send_packet(&format!("Z{kind},{nowhere},2")).starts_with('E'));
            }
            // The last one has the bit of Thumb.
            for address in ["10", "c", "f", "c"] {
                assert_eq!(debugger.send_packet(&format!("Z{kind},{address},2")), "OK");
            }
            debugger.goes("c", &[0xC, 0xE, 0x10, 0xC, 0xE]);
            debugger.goes("bc", &[0xC, 0x10]);
            assert_eq!(debugger.send_packet(&format!("z{kind},f,2")), "OK");
            assert!(debugger.send_packet(&format!("z{kind},f,2")).starts_with('E'));
            debugger.goes("c", &[0xC, 0x10, 0xC, 0x10]);
            for address in ["c", "10"] {
                assert_eq!(debugger.send_packet(&format!("z{kind},{address},2")), "OK");
            }
            assert_eq!(debugger.send_packet("c"), "S18");
            assert_eq!(debugger.send_packet("D"), "OK");
        });
    }
}

/// A part may be read (the manual, at `m`), but not written.
#[test]
fn memory_ends_where_it_ends() {
    with_limit(300, &PROGRAM, |debugger| {
        assert_eq!(debugger.send_packet("M20000ffe,2:0102"), "OK");
        assert_eq!(debugger.send_packet("m20000ffe,4"), "0102");
        assert_eq!(debugger.send_packet("m8,4"), "0130fde7", "flash");
        for refused in ["m20001000,4", "M20000ffe,4:01020304", "M20001000,4:01020304"] {
            assert!(debugger.send_packet(refused).starts_with('E'), "{refused}");
        }
        assert_eq!(debugger.send_packet("m20000ffe,2"), "0102");
        assert_eq!(debugger.send_packet("D"), "OK");
    });
}

/// Registers outside memories take words: here SysTick's reload value, current value and control. It counts, so it
/// comes to its handler.
#[test]
fn words_can_be_written_to_registers_of_the_core() {
    with_limit(300, &PROGRAM, |debugger| {
        for write in ["Me000e014,4:20000000", "Me000e018,4:00000000", "Me000e010,4:07000000"] {
            assert_eq!(debugger.send_packet(write), "OK");
        }
        assert!(debugger.send_packet("Me000e014,2:2000").starts_with('E'), "half a word");
        assert_eq!(debugger.send_packet("Z0,18,2"), "OK");
        let vector = "M3c,4:19000000";
        assert_eq!(debugger.send_packet(vector), "OK");
        assert!(debugger.send_packet("c").starts_with("T05"), "in the handler");
        assert_eq!(debugger.register(15), 0x18);
        assert_eq!(debugger.monitor("exceptions"), "1\n");
        assert_eq!(debugger.send_packet("D"), "OK");
    });
}
