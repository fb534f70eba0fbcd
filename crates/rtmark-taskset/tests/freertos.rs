//! Task sets on FreeRTOS, beside their bounds.

use oorandom::Rand64;
use rtmark_firmware::{Builder, Tree, Variant};
use rtmark_plan::Model;
use rtmark_plan::draw::{self, Wish};
use rtmark_sim::Soc;
use rtmark_taskset::{Bench, Effort};

fn bench(soc: &Soc) -> Bench {
    let tree = Tree::find(None).expect("the firmware's folder");
    let kernels = tree.kernels().expect("in order");
    let kernel = kernels.iter().find(|it| it.manifest.id.as_str() == "freertos").expect("there");
    let variant: Variant = "product+priorities=32".parse().expect("good");
    let switched = variant.of(&kernel.manifest, soc.core.name()).expect("possible");
    let builder = Builder::new(tree);
    let built = builder.build_plan(kernel, soc, &switched).expect("built");
    Bench::new(soc, &built["plan"].elf).expect("an image of task sets")
}

fn soc(name: &str) -> Soc {
    let path = format!("{}/../../socs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("there");
    Soc::from_toml(&text).expect("in order")
}

/// Draws sets, and compares the longest responses found with the bounds: for each task how much
/// longer the bound is, as a share of it; which runs are above theirs; and how many sets have bounds.
fn compare(name: &str, count: u64, seed: u64) -> (Vec<f64>, Vec<String>, u64) {
    let bench = bench(&soc(name));
    let calibration = bench.calibrate().expect("measured");
    let model = Model::of("freertos").expect("known");
    let mut draw = Rand64::new(u128::from(seed));
    let (mut gaps, mut above, mut sets) = (Vec::new(), Vec::new(), 0);
    for number in 0..count {
        let wish = Wish {
            tasks: draw.rand_range(2..7) as usize,
            utilisation: 0.3 + 0.55 * draw.rand_float(),
            tick: 12_000,
            periods: (2, 50),
            least_work: 1_000,
            locks: draw.rand_range(0..3) as usize,
            interrupts: draw.rand_range(0..3) as usize,
        };
        let set = draw::set(&mut draw, &wish);
        let bounds = model.bounds(&set, &calibration.costs);
        if bounds.iter().any(Result::is_err) {
            continue;
        }
        sets += 1;
        let effort = Effort { offsets: 3, seed: number, cycles: 2_000_000 };
        let found = bench.search(&set, &calibration, effort).expect("it runs");
        for ((task, bound), found) in set.tasks.iter().zip(&bounds).zip(found) {
            let bound = bound.as_ref().expect("looked at").response;
            if found.longest > bound {
                above.push(format!(
                    "{name}, set {number}: {} took {} of {bound}: {found:?} {set:#?}",
                    task.name, found.longest
                ));
            }
            gaps.push(1.0 - found.longest as f64 / bound as f64);
        }
    }
    (gaps, above, sets)
}

/// `RTMARK_SETS=1200 cargo test -p rtmark-taskset -- --nocapture` draws more.
#[test]
#[expect(clippy::print_stdout, reason = "the figures of a longer run are to be read")]
fn no_run_exceeds_its_bound() {
    let asked = std::env::var("RTMARK_SETS").ok();
    let count = asked.and_then(|text| text.parse().ok()).unwrap_or(25);
    for name in ["stm32f405", "stm32c031"] {
        let (mut gaps, above, sets) = compare(name, count, 1);
        assert!(above.is_empty(), "{} runs above their bounds: {}", above.len(), above[0]);
        gaps.sort_by(f64::total_cmp);
        let at = |share: f64| gaps[((gaps.len() - 1) as f64 * share) as usize] * 100.0;
        println!(
            "{name}: {sets} of {count} sets bounded and run, with {} tasks; gap: median {:.1} %, 95th \
             percentile {:.1} %, largest {:.1} %",
            gaps.len(),
            at(0.5),
            at(0.95),
            at(1.0)
        );
        assert!(at(0.5) <= 20.0 && at(0.95) <= 50.0, "{name}: the bound hides much");
    }
}
