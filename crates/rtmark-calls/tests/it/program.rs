//! Small Cortex-M programs, and what is recorded of their runs.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rtmark_calls::{Api, CallRecorder, CalledFunction, KernelCost, Outcome};
use rtmark_observe::Lines;
use rtmark_sim::{Cycles, Image, Machine, Soc, Stop, Symbols, Watch};

const M0PLUS: &str = include_str!("../../../../socs/generic-cortex-m0plus.toml");
const M3: &str = include_str!("../../../../socs/generic-cortex-m3.toml");

/// The cycle in which a run ends at the latest.
const LIMIT: Cycles = Cycles(20_000);

/// The functions of a kernel without threads of its own.
pub const CALLS: &str = "name = \"k\"\ncalls = [\"mk_*\"]\n";

/// A program in a machine that has just been reset.
#[derive(Clone)]
pub struct Program {
    elf: Vec<u8>,
    image: Image,
    machine: Machine,
}

impl Program {
    /// Assembles a program for a Cortex-M0+; its text is preceded by `prelude.s`.
    pub fn assembled(text: &str) -> Self {
        let text = [include_str!("../programs/prelude.s"), text, "\n"].concat();
        Self::built("cortex-m0plus", M0PLUS, &["-x", "assembler"], &text)
    }

    /// Assembles a program for a Cortex-M3.
    pub fn assembled_for_m3(text: &str) -> Self {
        let text = [include_str!("../programs/prelude.s"), text, "\n"].concat();
        Self::built("cortex-m3", M3, &["-x", "assembler"], &text)
    }

    /// Compiles a program of C for a Cortex-M0+, with debug information.
    pub fn compiled(text: &str) -> Self {
        let options = ["-O2", "-g", "-ffreestanding", "-Wall", "-Werror", "-x", "c"];
        Self::built("cortex-m0plus", M0PLUS, &options, text)
    }

    fn built(cpu: &str, soc: &str, options: &[&str], text: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let out = tempfile::NamedTempFile::new().expect("a scratch file");
        let mut gcc = Command::new("arm-none-eabi-gcc");
        gcc.args([&format!("-mcpu={cpu}"), "-mthumb", "-nostdlib", "-T"]);
        gcc.arg(folder.join("program.ld")).arg(folder.join("vectors.s"));
        gcc.args(options).arg("-").arg("-o").arg(out.path()).stdin(Stdio::piped());
        let mut gcc = gcc.spawn().expect("arm-none-eabi-gcc is installed");
        let mut input = gcc.stdin.take().expect("a pipe");
        input.write_all(text.as_bytes()).expect("it reads");
        drop(input);
        assert!(gcc.wait().expect("it ends").success(), "{text}");
        let elf = std::fs::read(out.path()).expect("built");
        let image = Image::from_elf(&elf).expect("an image");
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
        machine.load(&image).expect("it fits");
        Self { elf, image, machine }
    }

    /// Returns the program as it is after its debug information has been removed.
    pub fn without_debug_information(self) -> Self {
        let file = tempfile::NamedTempFile::new().expect("a scratch file");
        std::fs::write(file.path(), &self.elf).expect("writable");
        let mut strip = Command::new("arm-none-eabi-objcopy");
        let status = strip.arg("--strip-debug").arg(file.path()).status();
        assert!(status.expect("arm-none-eabi-objcopy is installed").success());
        Self { elf: std::fs::read(file.path()).expect("written"), ..self }
    }

    pub fn symbols(&self) -> &Symbols {
        self.image.symbols()
    }

    pub fn lines(&self) -> Option<Lines<'_>> {
        Lines::new(&self.elf)
    }

    pub fn address(&self, symbol: &str) -> u32 {
        self.symbols().address_of(symbol).expect("a symbol")
    }

    /// Makes an interrupt pending in a cycle.
    pub fn interrupt(&mut self, number: u16, at: u64) {
        self.machine.pend_interrupt(number, Cycles(at));
    }

    /// Returns the cycles in which the instruction at an address begins, without a recorder.
    pub fn begins(&self, address: u32) -> Vec<u64> {
        let mut machine = self.machine.clone();
        machine.watch(Watch::Execute(address));
        machine.run(LIMIT);
        machine.take_hits().iter().map(|hit| hit.cycle.0).collect()
    }

    /// Returns the cycle in which the run ends.
    pub fn end(&self) -> u64 {
        let mut machine = self.machine.clone();
        machine.run(LIMIT);
        machine.cycles().0
    }

    /// Returns the author's functions that are named like a kernel's.
    pub fn lookalikes(&self, api: &str) -> Vec<String> {
        let api = Api::from_toml("k.toml", api).expect("a kernel's file");
        let lines = self.lines();
        let recorder = CallRecorder::new(&self.machine, &self.image, &api, lines.as_ref());
        recorder.lookalikes().map(str::to_owned).collect()
    }

    /// Returns the number of functions that applications may call.
    pub fn entries(&self, api: &Api) -> usize {
        CallRecorder::new(&self.machine, &self.image, api, None).entries()
    }

    /// Returns what is recorded of the calls of a kernel's functions; `api` is its file.
    pub fn cost(&self, api: &str) -> KernelCost {
        let api = Api::from_toml("k.toml", api).expect("a kernel's file");
        let lines = self.lines();
        let record = |machine: &Machine| {
            CallRecorder::matching(machine, &self.image, &self.elf, &api, lines.as_ref())
        };
        let landmarks = record(&self.machine).landmarks();
        let [everything, some] = [false, true].map(|at_landmarks| {
            let mut machine = self.machine.clone();
            let mut recorder = record(&machine);
            let stop = if at_landmarks {
                machine.run_observed_at(&landmarks, LIMIT, &mut recorder)
            } else {
                machine.run_observed(LIMIT, &mut recorder)
            };
            assert!(matches!(stop, Stop::Limit | Stop::Exit(_)), "{stop:?}");
            recorder.finish(&machine)
        });
        assert_eq!(some, everything, "at landmarks, and at every instruction");
        assert_eq!(some.shares.cycles(), self.end(), "every cycle is somebody's");
        some
    }
}

/// Compiles a program of C whose functions may consist of NOPs.
pub fn compiled(text: &str) -> Program {
    let prelude = r#"
        #define NOPS(n) __asm__ volatile(".rept " #n "\n\tnop\n\t.endr")
        #define INLINED static inline __attribute__((always_inline)) void
        #define FUNCTION __attribute__((noipa)) void
        static inline void finish(void)
        {
            register unsigned operation __asm__("r0") = 0x18, reason __asm__("r1") = 0x20026;
            __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
        }
    "#;
    Program::compiled(&[prelude, text].concat())
}

/// Returns the calls of a function with an outcome, by its shown name.
pub fn called<'a>(cost: &'a KernelCost, name: &str, outcome: Outcome) -> &'a CalledFunction {
    let is_it = |one: &&CalledFunction| (one.function.as_str(), one.outcome) == (name, outcome);
    let mut found = cost.called.iter().filter(is_it);
    let one = found.next().unwrap_or_else(|| panic!("{name}: {cost:#?}"));
    assert!(found.next().is_none(), "{name}: {cost:#?}");
    one
}

/// Returns the address of each place that calls a function, how often, and its most cycles.
pub fn sites(called: &CalledFunction) -> Vec<(u32, u64, Option<u64>)> {
    called.sites.iter().map(|site| (site.place.address, site.calls, site.max)).collect()
}
