//! The conditions under which a report's figures were measured.

use std::collections::BTreeSet;

use rtmark_model::{Answer, Series};

use crate::notes::rests_on;
use crate::report::Report;
use crate::sheet::{Column, Row, Sheet};

/// Lists the run, the programs and the socs.
pub fn environment(report: &Report<'_>) -> Sheet {
    let about = "The simulator\u{2019}s counts depend on nothing else: not on the computer, its \
                 load, or the time.";
    let mut sheet = Sheet::new("environment", "Environment", about);
    sheet.columns = vec![Column::text("item"), Column::text("value")];
    let mut add = |what: &str, which: String| {
        if !which.is_empty() {
            sheet.rows.push(Row::new([what.to_owned(), which]));
        }
    };
    if let Some(run) = report.run {
        let word = if run.complete { "" } else { ", incomplete" };
        add("run", format!("{} of {} UTC{word}", run.id, run.when));
        add("command", run.command.clone());
        add("commit", run.revision.clone().unwrap_or_default());
    }
    let series = || report.answers.iter().filter_map(Answer::series);
    let each = |of: &dyn Fn(&Series) -> Option<String>| {
        let all: BTreeSet<String> = series().filter_map(of).filter(|s| !s.is_empty()).collect();
        all.into_iter().collect::<Vec<_>>().join("; ")
    };
    add("rtmark", each(&|s| Some(s.provenance.rtmark.clone())));
    add("rtmark, SHA-256", each(&|s| s.provenance.rtmark_sha256.clone()));
    add("timing model", each(&|s| s.provenance.timing_model.clone()));
    add("emulator", each(&|s| s.provenance.emulator.clone()));
    add("compilers", each(&|s| Some(s.provenance.compiler.version.clone())));
    add("firmware commit", each(&|s| s.provenance.commit.clone()));
    let soc = |s: &Series| {
        let (p, clock) = (&s.provenance, s.clock);
        let sha = p.soc_sha256.get(..16).unwrap_or(&p.soc_sha256);
        let basis = rests_on(p).map(|basis| format!(", {basis}")).unwrap_or_default();
        let soc = &s.key.soc;
        Some(format!("{soc}: {} at {clock}{basis}, SHA-256 {sha}\u{2026}", p.core))
    };
    add("socs", each(&soc));
    add("report", report.generator.to_owned());
    sheet
}
