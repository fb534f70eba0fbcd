//! `rtmark sim --profile` of what a compiler has made: functions that were inlined are in its stacks.

use std::path::Path;
use std::process::Command;

const PROGRAM: &str = r#"
extern unsigned stack_top[];
void start(void);
__attribute__((section(".vectors"), used))
void *const vectors[2] = {(void *)0x20001000, (void *)start};

static inline __attribute__((always_inline)) unsigned square(unsigned number)
{
    unsigned sum = 0;
    for (unsigned at = 0; at < number; at++) {
        __asm volatile("" : "+r"(sum));
        sum += number;
    }
    return sum;
}
static inline __attribute__((always_inline)) unsigned squares(unsigned count)
{
    unsigned sum = 0;
    for (unsigned at = 0; at < count; at++) {
        sum += square(at);
    }
    return sum;
}
__attribute__((noinline)) unsigned work(unsigned count)
{
    return squares(count) + 1;
}
void start(void)
{
    register unsigned reason __asm("r1");
    register unsigned call __asm("r0");
    volatile unsigned kept = work(20);
    (void)kept;
    reason = 0x20026;
    call = 0x18;
    __asm volatile("bkpt 0xAB" : : "r"(call), "r"(reason));
    for (;;) {
    }
}
"#;

#[test]
fn stacks_include_inlined_functions() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a.c"), PROGRAM).expect("written");
    let compiled = Command::new("arm-none-eabi-gcc")
        .args(["-mcpu=cortex-m4", "-mthumb", "-O2", "-g", "-nostdlib", "-ffreestanding"])
        .args(["-Wl,--section-start=.vectors=0x08000000,-Ttext=0x08000100", "a.c", "-o", "a.elf"])
        .current_dir(folder.path())
        .output()
        .expect("the compiler starts");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = |image: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
            .args(["sim", image, "--soc", "stm32f405", "--profile=a.folded", "--format", "json"])
            .current_dir(folder.path())
            .output()
            .expect("rtmark runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let text = std::fs::read_to_string(path("a.folded")).expect("written");
        let line = |line: &str| {
            let (stack, cycles) = line.rsplit_once(' ').expect("a stack and its cycles");
            (stack.to_owned(), cycles.parse::<u64>().expect("cycles"))
        };
        let stacks: Vec<_> = text.lines().map(line).collect();
        let sum: u64 = stacks.iter().map(|(_, cycles)| cycles).sum();
        assert_eq!(Some(sum), run["cycles"].as_u64(), "{text}");
        stacks
    };
    let stacks = run("a.elf");
    let cycles = |stack: &str| {
        let mut all = stacks.iter();
        all.find(|(name, _)| name == stack).map(|(_, cycles)| *cycles).unwrap_or_default()
    };
    // 190 turns of the inner loop, of at least three instructions.
    assert!(cycles("start;work;squares_[i];square_[i]") >= 3 * 190, "{stacks:?}");
    assert!(cycles("start;work;squares_[i]") > 20, "{stacks:?}");
    assert!((1..50).contains(&cycles("start;work")), "{stacks:?}");

    // Without debug information they are their callers'.
    let stripped = Command::new("arm-none-eabi-objcopy")
        .args([Path::new("--strip-debug"), &path("a.elf"), &path("b.elf")])
        .status();
    assert!(stripped.expect("it starts").success());
    let plain = run("b.elf");
    let whole: u64 = stacks
        .iter()
        .filter(|(name, _)| name.starts_with("start;work"))
        .map(|(_, cycles)| cycles)
        .sum();
    assert!(plain.contains(&("start;work".to_owned(), whole)), "{plain:?} {stacks:?}");
}
