//! The report in a real browser: it loads without a word on the console and without a
//! request, each control does what it says, and hostile text stays text.

use std::path::Path;
use std::process::Command;

use crate::fixture::Fixture;

/// What is done in the page, and what must then be so: each line a name and a condition.
const CHECKS: &str = r##"
const verdicts = [];
const check = (name, fine) => verdicts.push([name, Boolean(fine)]);
const q = (selector) => document.querySelector(selector);
const qa = (selector) => [...document.querySelectorAll(selector)];
const seen = (element) => element && element.getClientRects().length > 0;
const choose = (selector) => q(selector).click();
const rows = () => qa("#block-1 .matrix tbody tr").filter(seen).map((row) => row.dataset.scenario).join();
const cell = (kernel) => q(`#block-1 .matrix tbody tr[data-scenario="thread.yield"] td[data-kernel=${kernel}]`);
window.onload = () => setTimeout(() => {
  check("no request was made", performance.getEntriesByType("resource").length === 0);
  check("hostile text did nothing", document.title.includes("<script>") && !q("img") && qa("script").length === 4);
  check("controls are there", seen(q("#controls")));
  check("the first soc is shown", seen(q("#block-1")) && !seen(q("#block-2")));
  choose("input[name=block][value='2']");
  check("the second soc is shown", !seen(q("#block-1")) && seen(q("#block-2")));
  choose("input[name=block][value='1']");
  check("multiples are coloured", cell("freertos").className === "h2");
  check("all figures are shown", seen(cell("freertos").querySelector(".c")) && seen(cell("freertos").querySelector(".t")));
  choose("input[name=figure][value=count]");
  check("counts alone", seen(cell("freertos").querySelector(".c")) && !seen(cell("freertos").querySelector(".t")) && !seen(cell("freertos").querySelector(".x")));
  choose("input[name=figure][value=time]");
  check("times alone", !seen(cell("freertos").querySelector(".c")) && seen(cell("freertos").querySelector(".t")));
  choose("input[name=figure][value=multiple]");
  check("multiples alone", !seen(cell("freertos").querySelector(".c")) && seen(cell("freertos").querySelector(".x")));
  const heads = qa("#block-1 .matrix thead button");
  const original = rows();
  heads[2].click();
  check("sorted by multiples", rows().endsWith("queue.send"));
  check("the sorting is told", heads[2].closest("th").getAttribute("aria-sort") === "ascending");
  choose("input[name=figure][value=count]");
  heads[2].click();
  check("sorted by counts, falling", rows() === "queue.send,thread.yield,isr.entry");
  heads[2].click();
  check("as it was", rows() === original);
  heads[0].click();
  check("sorted by name", rows() === "isr.entry,queue.send,thread.yield");
  heads[0].click(); heads[0].click();
  choose("input[name=kernel][value=freertos]");
  check("a kernel goes", !seen(cell("freertos")) && seen(cell("floor")));
  choose("input[name=kernel][value=freertos]");
  check("and comes back", seen(cell("freertos")));
  const field = q("#filter");
  field.value = "QUEUE"; field.dispatchEvent(new Event("input"));
  check("scenarios are filtered", rows() === "queue.send" && q("#shown").textContent === "1 of 3");
  field.value = ""; field.dispatchEvent(new Event("input"));
  check("and all again", rows() === original && q("#shown").textContent === "");
  const ground = () => getComputedStyle(document.body).backgroundColor;
  choose("input[name=theme][value=dark]");
  const dark = ground();
  choose("input[name=theme][value=light]");
  check("dark and light differ", dark !== ground());
  const wide = (id) => qa(`[data-charts="${id}"] canvas`).map((canvas) => canvas.clientWidth);
  check("the curve is drawn", wide("curve-1-growth.tick.delayed").every((width) => width > 100) && wide("curve-1-growth.tick.delayed").length === 1);
  check("its order is told", q("#curve-1-growth\\.tick\\.delayed mark").textContent.includes("linear"));
  check("points of curves are no rows", !q(".matrix [data-scenario^=growth]"));
  check("worst cases are drawn", wide("worst-1").length === 2);
  check("the witness is told", q("#witnesses-1").textContent.includes("rtmark sim x.elf --irq=8@1234"));
  check("what held it back is told", q("#held-1").textContent.includes("PRIMASK"));
  check("changes are told and drawn", q("#history tbody tr") && wide("history").length === 1);
  check("figures of others stand beside ours", q("#others").textContent.includes("× ours"));
  choose("input[name=figure][value=first]");
  check("first samples alone", seen(cell("freertos").querySelector(".f")) && !seen(cell("freertos").querySelector(".c")));
  heads[2].click();
  check("sorted by first samples", rows().endsWith("queue.send"));
  heads[2].click(); heads[2].click();
  choose("input[name=figure][value=all]");
  location.hash = "#settings-2";
  setTimeout(() => {
  check("a link shows its soc", seen(q("#block-2")) && !seen(q("#block-1")));
  choose("input[name=block][value='1']");
  const details = document.getElementById("s1-thread.yield");
  q('#block-1 tr[data-scenario="thread.yield"] a').click();
  const canvases = () => [...details.querySelectorAll("canvas")];
  // Charts are drawn with a frame, which a busy computer takes its time for.
  const drawn = () => canvases().length === 4 && canvases().every((canvas) => canvas.clientWidth > 100);
  const once = (done, then, tries) => done() || tries === 0 ? then() : setTimeout(once, 50, done, then, tries - 1);
  once(drawn, () => {
    check("the link opens the scenario", details.open);
    check("charts are drawn: " + canvases().map((canvas) => canvas.clientWidth), drawn());
    check("the command is told", details.textContent.includes("rtmark run --scenario thread.yield --soc one --kernel floor freertos rtic"));
    check("it leads to the worst case", details.querySelector("a[href='#worst']").textContent.includes("61 cycles"));
    choose("input[name=kernel][value=freertos]");
    check("a kernel's charts go", [...details.querySelectorAll("figure")].filter(seen).length === 2);
    choose("input[name=kernel][value=freertos]");
    check("tables have captions", qa(".matrix caption").length === 2);
    check("controls have names", qa("input").every((input) => input.labels.length > 0));
    check("all can be reached by keyboard", heads.every((head) => head.tabIndex === 0));
    const told = document.createElement("pre");
    told.id = "verdicts";
    told.textContent = JSON.stringify(verdicts);
    document.body.append(told);
  }, 100);
  }, 300);
}, 400);
"##;

fn browser() -> Option<&'static str> {
    let runs = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs)
}

/// The page after its scripts have run, and what the browser said meanwhile.
fn loaded(browser: &str, page: &Path, home: &Path) -> (String, String) {
    let output = Command::new("timeout")
        .args(["-s", "KILL", "120", browser, "--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--virtual-time-budget=10000"])
        .arg("--dump-dom")
        .arg(format!("--user-data-dir={}", home.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is passed over says so")]
fn every_control_does_what_it_says() {
    let Some(browser) = browser() else {
        eprintln!("passed over: no Chromium here; scripts/setup test installs it");
        return;
    };
    let home = tempfile::tempdir().expect("a scratch folder");
    let page = home.path().join("report.html");
    let fixture = Fixture::new();
    let report = fixture.report().html().expect("rendered");
    std::fs::write(&page, &report).expect("writable");
    let (dom, said) = loaded(browser, &page, home.path());
    assert!(dom.contains("id=\"block-2\""), "{said}");
    assert!(!said.contains("CONSOLE"), "{said}");

    // The same page with checks in it, for which its policy is lifted.
    let policy = report.find("<meta http-equiv").expect("a policy");
    let end = policy + report[policy..].find('>').expect("an end") + 1;
    let open = format!("{}{}", &report[..policy], &report[end..]);
    let checked = open.replace("</body>", &format!("<script>{CHECKS}</script></body>"));
    std::fs::write(&page, checked).expect("writable");
    let (dom, said) = loaded(browser, &page, home.path());
    assert!(!said.contains("CONSOLE"), "{said}");
    let begin = dom.find("<pre id=\"verdicts\">").expect("the checks came to their end");
    let verdicts = &dom[begin + "<pre id=\"verdicts\">".len()..];
    let verdicts: Vec<(String, bool)> =
        serde_json::from_str(&verdicts[..verdicts.find("</pre>").expect("an end")]).expect("JSON");
    let failed: Vec<_> = verdicts.iter().filter(|(_, fine)| !fine).collect();
    assert!(failed.is_empty() && verdicts.len() > 20, "{failed:?}");
}

#[test]
fn the_page_asks_for_nothing_and_runs_nothing_else() {
    let fixture = Fixture::new();
    let report = fixture.report().html().expect("rendered");
    assert!(report.contains("default-src 'none'"));
    // Markup of its own leads nowhere but within the page; hostile text has none.
    for markup in
        ["<img", "<link", "<iframe", "href=\"http", "url(", "@import", "onclick=", " style=\""]
    {
        assert!(!report.contains(markup), "{markup}");
    }
    assert_eq!(report.matches("<script").count(), 3, "its data, the charts' library, its own");
    assert_eq!(report.matches("</script").count(), 3);
}
