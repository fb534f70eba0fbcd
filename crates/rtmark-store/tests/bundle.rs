//! Exports and imports bundles, and rejects invalid ones.

use std::io::{self, Read};

use rtmark_model::{Answer, Backend, Key};
use rtmark_store::bundle::{self, BundleError, LONGEST_LINE, Packing, export, import};
use rtmark_store::{RunInfo, RunWriter, Store, fingerprint};
use sha2::{Digest as _, Sha256};

fn answer(scenario: &str, reason: &str) -> Answer {
    let key = Key {
        soc: "s".into(),
        kernel: "floor".parse().expect("good"),
        version: "1".into(),
        profile: "product".into(),
        scenario: scenario.parse().expect("good"),
        backend: Backend::Sim,
    };
    Answer::NotApplicable { key, reason: reason.into() }
}

struct Stores {
    folder: tempfile::TempDir,
    from: Store,
}

impl Stores {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let from = Store::open(folder.path().join("from")).expect("made");
        let run = from.begin("rtmark run", "0", Some("c0ffee")).expect("begun");
        run.record(&answer("a.b", "line\nbreak"), Some(&fingerprint(["x"]))).expect("recorded");
        run.record(&answer("a.c", "<script>"), None).expect("recorded");
        run.finish().expect("finished");
        from.name(&from.runs().expect("read")[0], "base").expect("named");
        from.begin("rtmark run", "0", None).map(|_: RunWriter<'_>| ()).expect("interrupted");
        Self { folder, from }
    }

    fn runs(&self) -> Vec<RunInfo> {
        self.from.runs().expect("read")
    }

    fn bundle(&self, packing: Packing) -> Vec<u8> {
        let mut bytes = Vec::new();
        let answers =
            export(&self.from, &self.runs(), "test", packing, &mut bytes).expect("written");
        assert_eq!(answers, 2);
        bytes
    }

    /// A fresh store to import into.
    fn to(&self, name: &str) -> Store {
        Store::open(self.folder.path().join(name)).expect("made")
    }
}

#[test]
fn exported_runs_are_imported_once() {
    let stores = Stores::new();
    for packing in [Packing::Plain, Packing::Gzip] {
        let bytes = stores.bundle(packing);
        let mut beginning = [0; 64];
        let read = bundle::unpacked(&*bytes).expect("unpacked").read_exact(&mut beginning);
        assert!(read.is_ok() && bundle::looks_like_bundle(&beginning));
        assert!(!bundle::looks_like_bundle(&beginning[1..]) && !bundle::looks_like_bundle(b""));
        let checked = bundle::check(&*bytes).expect("checked");
        assert_eq!((checked.added.len(), checked.answers), (2, 2));
        let to = stores.to(&format!("{packing:?}"));
        let imported = import(&to, &*bytes).expect("imported");
        assert_eq!((imported.added.len(), imported.answers), (2, 2));
        let shown = |store: &Store| {
            let runs = store.runs().expect("read").into_iter();
            runs.map(|run| (run.id, run.names, run.revision, run.finished_ms, run.answers))
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(&to), shown(&stores.from));
        let id = &stores.runs()[1].id;
        let texts = |store: &Store| format!("{:?}", store.answers(id).expect("read"));
        assert_eq!(texts(&to), texts(&stores.from));
        assert!(to.find(&fingerprint(["x"])).expect("read").is_none(), "others' word is no answer");

        let again = import(&to, &*bytes).expect("harmless");
        assert_eq!((again.added.len(), again.known.len(), again.answers), (0, 2, 0));
        assert_eq!(to.runs().expect("read").len(), 2);
    }
}

#[test]
fn existing_names_are_not_moved() {
    let stores = Stores::new();
    let to = stores.to("to");
    to.begin("c", "0", None).and_then(RunWriter::finish).expect("finished");
    let own = to.runs().expect("read").remove(0);
    to.name(&own, "base").expect("named");
    let imported = import(&to, &*stores.bundle(Packing::Plain)).expect("imported");
    assert_eq!(imported.names_taken, ["base"]);
    assert_eq!(to.resolve("base", |_| None).expect("there").id, own.id);
}

/// A run that is exported while it is in progress, and again later.
struct Progress {
    stores: Stores,
    to: Store,
}

impl Progress {
    fn new() -> Self {
        let stores = Stores::new();
        let to = stores.to("to");
        Self { stores, to }
    }

    /// A bundle of the run with this id alone.
    fn bundle(&self, id: &str) -> Vec<u8> {
        let mut runs = self.stores.runs();
        runs.retain(|run| run.id == id);
        let mut bytes = Vec::new();
        export(&self.stores.from, &runs, "test", Packing::Plain, &mut bytes).expect("written");
        bytes
    }

    /// What the importing store has of the run: the reasons of its answers, and whether it is finished.
    fn stored(&self, id: &str) -> (Vec<String>, bool) {
        let reason = |answer| match answer {
            Answer::NotApplicable { reason, .. } => reason,
            other => panic!("{other:?}"),
        };
        let answers = self.to.answers(id).expect("read").into_iter().map(reason).collect();
        let run = self.to.resolve(id, |_| None).expect("there");
        assert_eq!(run.answers, self.to.answers(id).expect("read").len() as u64);
        (answers, run.finished_ms.is_some())
    }
}

#[test]
fn runs_that_were_exported_unfinished_are_continued() {
    let progress = Progress::new();
    let (from, to) = (&progress.stores.from, &progress.to);
    let run = from.begin("rtmark run", "0", None).expect("begun");
    let id = run.id().to_owned();
    let mut bundles = vec![progress.bundle(&id)];
    for (scenario, reason) in [("a.b", "1"), ("a.c", "2"), ("a.b", "3")] {
        run.record(&answer(scenario, reason), None).expect("recorded");
        bundles.push(progress.bundle(&id));
    }
    run.finish().expect("finished");
    from.name(&from.resolve(&id, |_| None).expect("there"), "done").expect("named");
    bundles.push(progress.bundle(&id));

    let first = import(to, &*bundles[1]).expect("imported");
    assert_eq!((&first.added, first.answers), (&vec![id.clone()], 1));
    to.name(&to.resolve(&id, |_| None).expect("there"), "mine").expect("named");
    // Less, and no more, change nothing.
    for bundle in &bundles[..2] {
        let again = import(to, &**bundle).expect("harmless");
        assert_eq!((&again.known, again.completed.len(), again.answers), (&vec![id.clone()], 0, 0));
        assert_eq!(progress.stored(&id), (vec!["1".into()], false));
    }
    let more = import(to, &*bundles[2]).expect("imported");
    assert_eq!((&more.completed, more.added.len(), more.answers), (&vec![id.clone()], 0, 1));
    assert_eq!(progress.stored(&id), (vec!["1".into(), "2".into()], false));
    let all = import(to, &*bundles[4]).expect("imported");
    assert_eq!((&all.completed, all.known.len(), all.answers), (&vec![id.clone()], 0, 1));
    let whole = (vec!["1".into(), "2".into(), "3".into()], true);
    assert_eq!(progress.stored(&id), whole);
    let kept = to.resolve(&id, |_| None).expect("there");
    assert_eq!(kept.names, ["done", "mine"]);
    assert_eq!(kept.finished_ms, from.resolve(&id, |_| None).expect("there").finished_ms);
    // A finished run stays as it is.
    for bundle in &bundles {
        let again = import(to, &**bundle).expect("harmless");
        assert_eq!((&again.known, again.completed.len(), again.answers), (&vec![id.clone()], 0, 0));
        assert_eq!(progress.stored(&id), whole);
    }
    assert_eq!(to.runs().expect("read").len(), 1);
}

#[test]
fn a_run_without_further_answers_is_finished() {
    let progress = Progress::new();
    let (from, to) = (&progress.stores.from, &progress.to);
    let run = from.begin("rtmark run", "0", None).expect("begun");
    let id = run.id().to_owned();
    run.record(&answer("a.b", "1"), None).expect("recorded");
    import(to, &*progress.bundle(&id)).expect("imported");
    // Names that the user has taken away do not come back, and those of other runs stay.
    let run_of = |store: &Store| store.resolve(&id, |_| None).expect("there");
    to.name(&run_of(to), "away").expect("named");
    to.unname(&run_of(to), "away").expect("unnamed");
    run.finish().expect("finished");
    from.name(&run_of(from), "away").expect("named");
    let imported = import(to, &*progress.bundle(&id)).expect("imported");
    assert_eq!((&imported.completed, imported.answers), (&vec![id.clone()], 0));
    assert_eq!(progress.stored(&id), (vec!["1".into()], true));
    assert_eq!(run_of(to).names, [""; 0]);
}

#[test]
fn a_run_is_not_continued_by_another_one() {
    let progress = Progress::new();
    let (from, to) = (&progress.stores.from, &progress.to);
    let run = from.begin("rtmark run", "0", None).expect("begun");
    let id = run.id().to_owned();
    run.record(&answer("a.b", "1"), None).expect("recorded");
    run.record(&answer("a.c", "2"), None).expect("recorded");
    import(to, &*progress.bundle(&id)).expect("imported");
    // With the same id, but other answers, or with fewer ones and yet finished.
    for answers in [vec!["a.b", "a.d", "a.e"], vec!["a.b"]] {
        let other = Progress::new();
        let run = other.stores.from.begin("rtmark run", "0", None).expect("begun");
        let other_id = run.id().to_owned();
        for scenario in answers {
            run.record(&answer(scenario, "1"), None).expect("recorded");
        }
        run.finish().expect("finished");
        let text =
            String::from_utf8(other.bundle(&other_id)).expect("text").replace(&other_id, &id);
        let error = import(to, &*signed(&text)).expect_err("refused").to_string();
        assert!(error.contains("other answers of the run"), "{error}");
        assert_eq!(progress.stored(&id), (vec!["1".into(), "2".into()], false));
    }
    // A run of one's own is not continued from outside.
    let own = progress.bundle(&id);
    run.record(&answer("a.e", "3"), None).expect("recorded");
    let later = String::from_utf8(progress.bundle(&id)).expect("text");
    let imported = import(from, later.as_bytes()).expect("harmless");
    assert_eq!((imported.known.len(), imported.completed.len(), imported.answers), (1, 0, 0));
    assert_eq!(import(from, &*own).expect("harmless").known.len(), 1);
}

/// A changed bundle with its right digest.
fn signed(text: &str) -> Vec<u8> {
    let (lines, end) = text.trim_end().rsplit_once('\n').expect("lines");
    let lines = format!("{lines}\n");
    let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
    let digest = Sha256::digest(&lines).iter().fold(String::new(), hex);
    let (before, _) = end.split_once("\"sha256\":\"").expect("a digest");
    format!("{lines}{before}\"sha256\":\"{digest}\"}}}}\n").into_bytes()
}

/// Returns the error about a bundle; the store must be unchanged.
fn refused(stores: &Stores, name: &str, from: impl Read) -> BundleError {
    let to = stores.to(name);
    let error = import(&to, from).expect_err("refused");
    assert_eq!(to.runs().expect("read"), [], "nothing of it stays");
    error
}

#[test]
fn corrupted_bundles_are_rejected_as_a_whole() {
    let stores = Stores::new();
    let good = String::from_utf8(stores.bundle(Packing::Plain)).expect("text");
    let spoil = |from: &str, to: &str| {
        assert!(good.contains(from), "{from} in {good}");
        refused(&stores, "spoilt", good.replacen(from, to, 1).as_bytes()).to_string()
    };
    let digest = "its digest does not match";
    assert!(spoil("line\\nbreak", "line break").contains(digest));
    assert!(spoil("\"rtmark_bundle\":1", "\"rtmark_bundle\":2").contains("version 2"));
    assert!(spoil("\"rtmark_bundle\":1", "\"rtmark_bundle\":99999999999").contains("line 1"));
    assert!(spoil("\"started_ms\":", "\"started_ms\":99999999999999999999").contains("line 2"));
    assert!(spoil("\"a.b\"", "\"../b\"").contains("line"));
    assert!(spoil("\"names\":[\"base\"]", "\"names\":[\"\\u001b[2J\"]").contains("is not allowed"));
    assert!(
        spoil("\"revision\":\"c0ffee\"", "\"revision\":\"$(reboot)\"").contains("not a commit")
    );
    assert!(spoil("{\"run\":", "{\"ran\":").contains("unknown variant"));
    assert!(spoil("\"answers\":2", "\"answers\":3").contains("do not match"));
    let id = &stores.runs()[1].id;
    for other in ["../../etc/passwd", &id[..31], &format!("{id}0"), &"g".repeat(32)] {
        assert!(spoil(id, other).contains("32 hexadecimal digits"), "{other}");
    }
    let lines: Vec<&str> = good.lines().collect();
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    let without_end = refused(&stores, "cut", joined(&lines[..lines.len() - 1]).as_bytes());
    assert!(matches!(without_end, BundleError::Broken(_)), "{without_end}");
    let cut = refused(&stores, "cut", &good.as_bytes()[..good.len() - 3]);
    assert!(matches!(cut, BundleError::Broken(_)), "{cut}");
    let more = refused(&stores, "more", format!("{good}x\n").as_bytes()).to_string();
    assert!(more.contains("follows"), "{more}");
    let no_run = joined(&[lines[0], lines[2], lines[3]]);
    assert!(refused(&stores, "norun", no_run.as_bytes()).to_string().contains("before any run"));
    let gzip = stores.bundle(Packing::Gzip);
    // Cut within the first line, and in the middle.
    for end in [12, gzip.len() / 2] {
        let cut = refused(&stores, "gz", &gzip[..end]);
        assert!(matches!(cut, BundleError::Io(_)), "{end}: {cut}");
    }
    let rubbish = &b"\x1f\x8b\x08\x00rubbish and more of it, but no deflate stream"[..];
    let error = refused(&stores, "gz", rubbish).to_string();
    assert!(error.contains("it begins like gzip but is not"), "{error}");
    let mut flipped = gzip.clone();
    flipped[gzip.len() / 2] ^= 0x10;
    refused(&stores, "gz", &*flipped);
    for noise in [&b""[..], b"\n", b"\xff\xfe\x00", b"SQLite format 3\0", b"{\"rtmark_bundle\":1"] {
        let error = refused(&stores, "noise", noise);
        assert!(matches!(error, BundleError::NoBundle(_)), "{error}");
    }
    let bytes = joined(&lines[..2]).replace("rtmark run", "\u{0}").into_bytes();
    let invalid: Vec<u8> = bytes.iter().map(|b| if *b == 0 { 0xff } else { *b }).collect();
    let error = refused(&stores, "utf8", &*invalid).to_string();
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn endless_lines_take_bounded_memory() {
    let stores = Stores::new();
    let head = &b"{\"rtmark_bundle\":1,\"generator\":\"x\"}\n"[..];
    let endless = head.chain(&b"{\"run\":\""[..]).chain(io::repeat(b'a').take(1 << 30));
    let error = refused(&stores, "long", endless).to_string();
    assert!(error.contains("line 2") && error.contains(&format!("{} MiB", LONGEST_LINE >> 20)));
    let error = refused(&stores, "long", io::repeat(b'{').take(1 << 30));
    assert!(matches!(error, BundleError::NoBundle(_)), "{error}");
}

#[test]
fn deep_nesting_and_huge_numbers_are_errors() {
    let stores = Stores::new();
    let good = String::from_utf8(stores.bundle(Packing::Plain)).expect("text");
    let lines: Vec<&str> = good.lines().collect();
    let answers = [
        format!("{{\"answer\":{}", "[".repeat(1 << 20)),
        "{\"answer\":1e999}".to_owned(),
        "{\"answer\":{\"answer\":\"measured\",\"clock\":340282366920938463463374607431768211456}}"
            .into(),
    ];
    for answer in answers {
        let text = [lines[0], lines[1], &answer].join("\n") + "\n";
        let error = refused(&stores, "deep", text.as_bytes()).to_string();
        assert!(error.contains("line 3"), "{error}");
    }
}

#[test]
fn bundles_with_changed_bytes_are_rejected_without_side_effects() {
    let stores = Stores::new();
    let to = stores.to("changed");
    // Xorshift: the same changes every time.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for packing in [Packing::Plain, Packing::Gzip] {
        let good = stores.bundle(packing);
        for _ in 0..2000 {
            let mut bytes = good.clone();
            match random(4) {
                0 => bytes.truncate(random(good.len())),
                1 => {
                    let at = random(good.len());
                    bytes.splice(at..at, [random(256) as u8; 3]);
                }
                2 => drop(bytes.drain(random(good.len())..).take(random(8)).collect::<Vec<_>>()),
                _ => bytes[random(good.len())] ^= 1 << random(8),
            }
            if bytes == good {
                continue;
            }
            // Bytes without meaning may change: in the gzip header, or spaces in the last line. The
            // contents read are then the same.
            if import(&to, &*bytes).is_ok() {
                let runs = to.runs().expect("read");
                let ids = |runs: &[RunInfo]| runs.iter().map(|r| r.id.clone()).collect::<Vec<_>>();
                assert_eq!(ids(&runs), ids(&stores.runs()));
                let answers = |store: &Store, run: &RunInfo| {
                    format!("{:?}", store.answers(&run.id).expect("read"))
                };
                for run in &runs {
                    assert_eq!(answers(&to, run), answers(&stores.from, run));
                }
                for run in &runs {
                    to.remove(run, "").expect("removed");
                }
                to.prune().expect("pruned");
            }
            assert_eq!(to.runs().expect("read"), []);
        }
    }
}
