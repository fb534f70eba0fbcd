//! Names of functions and exceptions, against a program's symbols and vectors.

use rtmark_observe::{ExceptionNames, Functions, handler_note, shared_name};
use rtmark_sim::{Irq, Machine};

use crate::support::{CORTEX_M, Program, soc};

/// A machine with so many interrupts, and the default handler of seven of them, 5 to 11.
fn machine(program: &Program, interrupts: u16) -> Machine {
    let mut soc = soc("generic-cortex-m3");
    soc.interrupts = interrupts;
    program.on(&soc)
}

#[test]
fn interrupts_are_named_after_handlers_of_their_own() {
    let program = Program::build("names", CORTEX_M, &["names.s"]);
    let (mut machine, symbols) = (machine(&program, 16), program.image.symbols());
    let mut names = ExceptionNames::new(&machine, symbols);
    let expected = ["IRQ 0 TIM2", "IRQ 1", "IRQ 2", "IRQ 3 PVD", "IRQ 4", "IRQ 5"];
    for (exception, expected) in (16..).zip(expected) {
        assert_eq!(names.name(exception), expected);
    }
    assert_eq!(names.name(15), "SysTick");
    // The program moves its table, by VTOR.
    machine.store_word(0xE000_ED08, program.address("moved")).expect("VTOR");
    names.refresh(&machine, symbols);
    assert_eq!((names.name(16), names.name(19)), ("IRQ 0 ADC1".to_owned(), "IRQ 3 PVD".to_owned()));
}

#[test]
fn an_interrupt_without_a_handler_of_its_own_is_noted() {
    let program = Program::build("default-handler", CORTEX_M, &["names.s"]);
    let symbols = program.image.symbols();
    let note = |interrupts, interrupt: u16| {
        handler_note(&machine(&program, interrupts), symbols, Irq::from(interrupt))
    };
    let text = |interrupt, others| {
        Some(format!(
            "IRQ {interrupt} has no handler of its own: its vector leads to Default_Handler, as those of {others} \
             other interrupts do"
        ))
    };
    assert_eq!((note(16, 5), note(16, 11)), (text(5, 6), text(11, 6)));
    // Handlers of their own, one shared by two, and one that dispatches.
    for interrupt in [0, 1, 2, 3, 12, 15] {
        assert_eq!(note(16, interrupt), None, "{interrupt}");
    }
    // Three others at least must have it: of eight interrupts, 5 to 7 do, and of nine, 5 to 8.
    assert_eq!((note(8, 5), note(9, 5)), (None, text(5, 3)));
}

#[test]
fn a_default_handler_serves_a_quarter_of_all_others_at_least() {
    let program = Program::build("quarter", CORTEX_M, &["names.s"]);
    let mut machine = machine(&program, 16);
    let symbols = program.image.symbols();
    let [own, default, dispatcher] =
        ["TIM2_IRQHandler", "Default_Handler", "Dispatcher"].map(|name| program.address(name));
    let table = 0x2000_0000;
    for (interrupts, shared, is_default) in
        [(13, default, true), (14, default, false), (13, dispatcher, false)]
    {
        let mut soc = machine.soc().clone();
        soc.interrupts = interrupts;
        machine = program.on(&soc);
        // Four of them share a handler: three, and the one in question.
        for interrupt in 0..u32::from(interrupts) {
            let handler = if interrupt < 4 { shared } else { own };
            machine.poke_word(table + 4 * (16 + interrupt), handler | 1).expect("RAM");
        }
        machine.store_word(0xE000_ED08, table).expect("VTOR");
        assert_eq!(
            handler_note(&machine, symbols, Irq::from(0)).is_some(),
            is_default,
            "{interrupts}"
        );
    }
}

#[test]
fn every_address_belongs_to_the_function_that_nm_lists() {
    let flags = [CORTEX_M, &["-O2"]].concat();
    let program = Program::build("functions", &flags, &["app.c", "other.c"]);
    let mut functions = Functions::new(program.image.symbols());
    let (mut checked, mut entries) = (0, Vec::new());
    for line in program.tool("nm", &["-S"]).lines() {
        let columns: Vec<_> = line.split_whitespace().collect();
        let [begin, size] =
            [0, 1].map(|at| u32::from_str_radix(columns[at], 16).expect("a number"));
        if matches!(columns[2], "T" | "t") && !["also_stop", "table", "tail"].contains(&columns[3])
        {
            for address in (begin..begin + size).step_by(2) {
                // The second look finds what the first has kept.
                for _ in 0..2 {
                    let number = functions.at(address);
                    assert_eq!(functions.name(number), columns[3], "{address:#x}");
                }
                checked += 1;
            }
            entries.extend((columns[3] == "helper").then_some(begin));
        }
    }
    assert!(checked > 60, "{checked}");
    let helper = functions.number("helper");
    assert_eq!(functions.namesakes(helper), entries);
    let main = functions.number("main");
    assert_eq!((functions.namesakes(main), functions.name(main)), (Vec::new(), "main"));
    assert_eq!(shared_name("helper", &entries), "helper (2 functions)");
    assert_eq!(
        (shared_name("main", &[]), shared_name("main", &[4])),
        ("main".into(), "main".into())
    );
}

#[test]
fn addresses_without_a_symbol_count_as_one_function_in_each_256_bytes() {
    let flags = [CORTEX_M, &["-mcpu=cortex-m3"]].concat();
    let program = Program::build("unnamed", &flags, &["masks.s"]);
    let mut functions = Functions::new(program.image.symbols());
    for (address, name) in [
        (0x0001_0000, "[0x00010000]"),
        (0x0001_00FE, "[0x00010000]"),
        (0x0001_0100, "[0x00010100]"),
        (0x0001_0500, "[0x00010500]"),
        (0x0001_0000, "[0x00010000]"),
        (0xFFFF_FFFE, "[0xffffff00]"),
    ] {
        let number = functions.at(address);
        assert_eq!(functions.name(number), name, "{address:#x}");
        assert!(functions.namesakes(number).is_empty());
    }
    assert_eq!((functions.names().len(), functions.name(99)), (4, ""));
}
