use super::*;
use crate::socs;
use rtmark_firmware::Manifest;

fn kernel(id: &str, cores: &str) -> Kernel {
    let text = format!(
        "id = '{id}'\nname = 'K'\nversion = '1'\nlicense = 'MIT'\nsource = 's'\nlanguage = 'C'\n\
         build = 'make'\nimages = ['thread']\ncores = [{cores}]\n\
         [[not_applicable]]\nscenario = 'queue.*'\nreason = 'None.'\n"
    );
    Kernel { folder: "x".into(), manifest: Manifest::from_toml(&text).expect("good"), own: false }
}

fn plan(kernels: &[&str], scenarios: &[&str]) -> Result<Plan, NothingSelected> {
    let patterns = |list: &[&str]| list.iter().map(|text| text.parse().expect("good")).collect();
    let selection = Selection { kernels: patterns(kernels), scenarios: patterns(scenarios) };
    let catalogue = Catalogue::builtin().expect("good");
    let known =
        [kernel("floor", "'cortex-m0plus'"), kernel("other", "'cortex-m0plus', 'cortex-m4f'")];
    let socs = socs::suite().expect("good");
    let platforms: Vec<_> = socs.into_iter().map(Platform::from).collect();
    Plan::new(&catalogue, &known, &platforms, &[Variant::default()], &selection)
}

#[test]
fn everything_is_measured_unless_filtered() {
    let all = plan(&[], &[]).expect("everything");
    assert_eq!(all.units.len(), 4);
    assert_eq!(all.answers(), 4 * Catalogue::builtin().expect("good").scenarios().len());
    let some = plan(&["fl*"], &["thread.*", "queue.*"]).expect("some");
    let names: Vec<_> =
        some.units[0].scenarios.iter().map(|(s, e)| (s.id.group(), e.as_deref())).collect();
    assert_eq!(names[0], ("thread", None));
    assert_eq!(names.iter().find(|(group, _)| *group == "queue"), Some(&("queue", Some("None."))));
    let curve = plan(&["floor"], &["growth.tick.delayed"]).expect("a curve");
    assert_eq!(curve.answers(), 2 * 7, "its points, on two socs");
    assert_eq!(plan(&["floor"], &["growth.tick.delayed.16"]).expect("a point").answers(), 2);
    assert!(!some.units[1].needs_firmware(), "the floor there does not support that core");
    let excuse = some.units[1].scenarios[0].1.as_deref();
    assert_eq!(excuse, Some("rtmark has no firmware of K for cortex-m4f."));
}

#[test]
fn parts_cover_the_plan_and_keep_images_together() {
    let whole = plan(&[], &[]).expect("everything");
    let placements = Placements::Usually(9);
    for of in [1, 2, 3, 7, 1000] {
        let parts = (1..=of).map(|number| whole.part(Share { number, of }, placements));
        let parts: Vec<Plan> = parts.collect();
        let mut keys: Vec<Key> = parts.iter().flat_map(Plan::keys).collect();
        let mut all = whole.keys();
        assert_eq!(keys.len(), all.len(), "{of} parts");
        keys.sort();
        all.sort();
        assert!(keys == all, "{of} parts");
        let images = parts.iter().flat_map(|part| &part.units).flat_map(|unit| {
            let images = unit.images(placements).into_iter();
            images.map(|(image, _)| (unit.platform.name(), &unit.kernel.manifest.id, image))
        });
        let images: Vec<_> = images.collect();
        let different: BTreeSet<_> = images.iter().collect();
        assert_eq!(different.len(), images.len(), "an image is in one part only");
    }
    let half = whole.part(Share { number: 2, of: 2 }, placements);
    assert!((whole.answers() / 4..whole.answers() * 3 / 4).contains(&half.answers()));
}

#[test]
fn filters_that_select_nothing_are_rejected() {
    let error = plan(&["floor", "flor"], &[]).expect_err("nothing");
    assert_eq!(error.to_string(), "no kernel fits `flor`; did you mean `floor`?");
    let error = plan(&[], &["*.nothing"]).expect_err("nothing");
    assert_eq!((error.what, &*error.pattern), ("scenario", "*.nothing"));
}

/// Tables are by soc, then by scenario as the catalogue has them, then by kernel.
#[test]
fn answers_are_in_the_order_of_tables() {
    let plan = plan(&["other", "floor"], &["thread.yield", "queue.*", "boot.*"]).expect("some");
    let keys = plan.keys();
    let (catalogue, socs) = (Catalogue::builtin().expect("good"), ["stm32c031", "stm32f405"]);
    let mut wanted = Vec::new();
    for soc in socs {
        for scenario in catalogue.scenarios().iter().map(|scenario| &scenario.id) {
            for kernel in ["floor", "other"] {
                let is_asked = scenario.as_str() == "thread.yield"
                    || ["queue", "boot"].contains(&scenario.group());
                wanted.extend(is_asked.then(|| (soc, scenario.as_str(), kernel)));
            }
        }
    }
    let key = |key: &Key| (key.soc.clone(), key.scenario.to_string(), key.kernel.to_string());
    let found: Vec<_> = keys.iter().map(key).collect();
    let wanted: Vec<_> =
        wanted.into_iter().map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())).collect();
    assert_eq!(found, wanted);
    assert!(wanted.len() > 12);
    assert_eq!(plan.platforms(), [0..2, 2..4]);
}

/// As many layouts as the most demanding scenario of an image asks for, where placement matters.
#[test]
fn an_image_is_linked_as_often_as_a_scenario_of_it_needs() {
    let catalogue = Catalogue::builtin().expect("good");
    let floor = kernel("floor", "'cortex-m0plus'");
    let soc = socs::find("stm32c031").expect("built in");
    let of = |basis, names: &[&str]| {
        let platform = Platform::Sim(Box::new(soc.clone()), basis);
        let asked = names.iter().map(|name| catalogue.get(&name.parse().expect("a name")));
        Unit::new(&floor, &platform, &Variant::default(), asked.map(|found| found.expect("known")))
    };
    let names = ["thread.yield", "queue.send.immediate", "growth.yield.ready.8"];
    let (cycles, instructions) = (of(Basis::Cycles, &names), of(Basis::Instructions, &names));
    let placements = Placements::Usually(9);
    let layouts =
        |unit: &Unit| ["thread", "queue", "growth"].map(|image| unit.layouts(image, placements));
    assert_eq!(layouts(&cycles), [9, 1, 3], "nobody answers for the queue");
    assert_eq!(layouts(&instructions), [1, 1, 1]);
    // The build costs as much as forty runs; what is declined costs nothing.
    assert_eq!(cycles.images(placements), [("thread", 49), ("queue", 0), ("growth", 43)]);
    assert_eq!(instructions.images(placements), [("thread", 41), ("queue", 0), ("growth", 41)]);
    let two = of(Basis::Cycles, &["growth.yield.ready.8", "growth.yield.ready.4"]);
    assert_eq!(two.images(placements), [("growth", 46)]);
    assert!(cycles.needs_firmware() && !of(Basis::Cycles, &names[1..2]).needs_firmware());
    assert_eq!(cycles.target().without, Vec::<String>::new());
    assert_eq!(of(Basis::Cycles, &names[1..]).target().without, ["thread"]);
}

#[test]
fn what_nobody_can_answer_has_a_reason() {
    let catalogue = Catalogue::builtin().expect("good");
    let scenario = |name: &str| catalogue.get(&name.parse().expect("a name")).expect("known");
    let held_back = scenario("load.held.most_urgent");
    let own = Scenario { own: true, ..scenario("thread.yield").clone() };
    let with = |own: bool, load: bool| {
        let mut kernel = kernel("floor", "'cortex-m0plus'");
        (kernel.own, kernel.manifest.load) = (own, load);
        kernel
    };
    let soc = socs::find("stm32c031").expect("built in");
    let reasons = [
        (with(false, false), Basis::Cycles, scenario("thread.yield"), None),
        (with(true, false), Basis::Cycles, scenario("thread.yield"), None),
        (with(true, false), Basis::Cycles, &own, None),
        (
            with(false, false),
            Basis::Cycles,
            &own,
            Some("It is a scenario of somebody's own kernel."),
        ),
        (with(false, false), Basis::Cycles, scenario("timer.tick"), None),
        (with(true, false), Basis::Cycles, scenario("timer.tick"), Some("K has no such image.")),
        (with(false, true), Basis::Cycles, held_back, None),
        (with(true, true), Basis::Cycles, held_back, None),
        (with(false, false), Basis::Cycles, held_back, Some("K has no mixed load.")),
        (
            with(false, true),
            Basis::Instructions,
            held_back,
            Some("Only the simulator sees what holds interrupts back, in cycles."),
        ),
    ];
    for (kernel, basis, scenario, reason) in reasons {
        let platform = Platform::Sim(Box::new(soc.clone()), basis);
        let unit = Unit::new(&kernel, &platform, &Variant::default(), [scenario]);
        assert_eq!(unit.scenarios[0].1.as_deref(), reason, "{}, {}", scenario.id, kernel.own);
    }
}

#[test]
fn a_variant_that_no_kernel_has_is_rejected() {
    let variants = |text: &str| {
        let kernels = [kernel("floor", "'cortex-m0plus'"), kernel("other", "'cortex-m4f'")];
        let platforms = [Platform::from(socs::find("stm32c031").expect("built in"))];
        let variant = text.parse().expect("a variant");
        let catalogue = Catalogue::builtin().expect("good");
        Plan::new(&catalogue, &kernels, &platforms, &[variant], &Selection::default())
            .map_err(|error| error.to_string())
    };
    for good in ["product", "checked", "product+opt=3"] {
        assert!(variants(good).is_ok(), "{good}");
    }
    let refusals = [
        ("produkt", "no profile fits `produkt`; did you mean `product`?"),
        ("lean", "no profile fits `lean`; did you mean `product`?"),
        (
            "product+trace=on",
            "no kernel with such settings fits `product+trace=on`\nK has no setting trace to choose.",
        ),
    ];
    for (variant, message) in refusals {
        assert_eq!(variants(variant).expect_err(message), message);
    }
}

/// The most urgent interrupt has priority 0 on a Cortex-M; one that may call the kernel has the kernel's level.
#[test]
fn interrupts_have_the_priority_that_a_scenario_looks_at() {
    let mut other = kernel("other", "'cortex-m4f'");
    other.manifest.interrupt_level = [("cortex-m4f".to_owned(), 5)].into();
    let soc = socs::find("stm32f405").expect("built in");
    let unit = Unit::new(&other, &Platform::from(soc), &Variant::default(), []);
    let priorities = [Victim::MostUrgent, Victim::MayCall].map(|victim| unit.priority_of(victim));
    assert_eq!(priorities, [0, 0x50]);
}
