const rows = () => qa("#block-1 .matrix tr[data-scenario]").filter(seen).map((row) => row.dataset.scenario).join();
const cell = (kernel, scenario = "thread.yield") => q(`#block-1 .matrix tr[data-scenario="${scenario}"] td[data-kernel=${kernel}]`);
const text = (kernel, scenario) => cell(kernel, scenario).querySelector(".v").textContent;
check("no request was made", w.performance.getEntriesByType("resource").length === 0);
check("hostile text did nothing", d.title.includes("<script>") && !q("img") && qa("script").length === 1);
check("controls are there", seen(q("#controls")));
// Chips.
check("the first chip is shown", seen(q("#block-1")) && !seen(q("#block-2")));
await click("input[name=chip][value=two]");
check("the second chip is shown", !seen(q("#block-1")) && seen(q("#block-2")));
await click("input[name=chip][value=one]");
// Units and samples.
check("cycles first", text("freertos") === "100" && q("#block-1 .unit").textContent === "cycles");
check("coloured by the row's best", cell("freertos", "queue.send").className === "h0" && cell("rtic", "queue.send").className === "h5");
check("the floor has no colour", cell("floor").className === "");
await click("input[name=unit][value=time]");
check("times in one unit, which the head says", text("freertos") === "2.08" && q("#block-1 .unit").textContent === "µs");
await click("input[name=unit][value=best]");
check("multiples of the row's best", text("rtic", "queue.send") === "5.0" && text("freertos", "queue.send") === "1.00");
await click("input[name=unit][value=count]");
await select("of", "f");
check("first samples", text("freertos") === "130");
await select("of", "m");
check("longest samples", text("freertos") === "130" && q("#block-1 .what-is-shown").textContent.startsWith("Longest"));
await select("of", "e");
check("with emptied caches", text("freertos") === "99");
await select("of", "c");
check("typical ones again", text("freertos") === "100");
// Kernels.
const curve = () => q("#curve-1-growth\\.tick\\.delayed");
await click("input[name=kernel][value=freertos]");
check("a kernel goes from tables", !seen(cell("freertos")) && seen(cell("floor")));
check("and from charts", qa("[data-kernel=freertos]").every((each) => !seen(each)) && seen(curve().querySelector("g[data-kernel=floor] .line")));
check("colours follow who is left", cell("rtic", "queue.send").className === "");
const colour = w.getComputedStyle(curve().querySelector("g[data-kernel=floor] .line")).stroke;
await click("input[name=kernel][value=freertos]");
check("and comes back", seen(cell("freertos")) && seen(curve().querySelector("g[data-kernel=freertos] .line")));
check("others keep their colours", w.getComputedStyle(curve().querySelector("g[data-kernel=floor] .line")).stroke === colour);
const looks = ["floor", "freertos"].map((kernel) => w.getComputedStyle(curve().querySelector(`g[data-kernel=${kernel}] .line`)));
check("kernels differ by colour and by dash", looks[0].stroke !== looks[1].stroke && looks[0].strokeDasharray !== looks[1].strokeDasharray);
// Scenarios.
const original = rows();
await find("QUEUE");
check("scenarios are filtered", rows() === "queue.send" && q("#shown").textContent === "1 of 4");
check("groups without rows go", !seen(q("#switch-1")));
await find("");
check("and all again", rows() === original && q("#shown").textContent === "");
// Folding and sorting.
const fold = q("#interrupts-1 .fold");
check("groups are open", fold.getAttribute("aria-expanded") === "true");
await click(fold);
check("a group folds", fold.getAttribute("aria-expanded") === "false" && !rows().includes("isr.entry"));
await click(fold);
check("and opens", rows() === original);
const heads = qa("#block-1 .matrix thead button");
await click(heads[2]);
check("sorted within groups", heads[2].closest("th").getAttribute("aria-sort") === "ascending" && rows().indexOf("isr.entry") < rows().indexOf("isr.return"));
await click(heads[2]);
check("sorted, falling", rows().indexOf("isr.entry") > rows().indexOf("isr.return"));
await click(heads[2]);
check("as it was", rows() === original);
// Notes.
const mark = cell("rtic").querySelector("a.mark");
await click(mark);
check("a note is shown at its place", seen(q(".tip")) && q(".tip").textContent.includes("<img"));
check("and is tied to its cell", d.getElementById(mark.getAttribute("aria-describedby")) !== null);
d.dispatchEvent(new w.KeyboardEvent("keydown", { key: "Escape" }));
check("and goes", !seen(q(".tip")));
// Themes.
const background = () => w.getComputedStyle(d.body).backgroundColor;
await select("theme", "dark");
const dark = background();
await select("theme", "light");
check("dark and light differ", dark !== background());
// Charts are part of the page.
check("no canvas", qa("canvas").length === 0);
check("the curve is drawn", curve().querySelectorAll("path.line").length === 2 && curve().querySelector("svg").clientWidth > 200);
check("its slopes are told", [...curve().querySelectorAll("text.n")].some((each) => each.textContent === "0.00"));
check("its order is told", curve().querySelector("mark").textContent.includes("linear"));
check("points of curves are no rows", !q(".matrix [data-scenario^=growth]"));
check("worst cases are drawn", qa("#worst-1 svg.chart").length === 2 && qa("#worst-1 .half, #worst-1 .most, #worst-1 .worst").length === 3);
check("the witness is told", q("#witnesses-1").textContent.includes("rtmark sim x.elf --irq=8@1234"));
check("what held it back is told", q("#held-1").textContent.includes("PRIMASK"));
check("the worst case is on the first screen", q("#overview-1").textContent.includes("61 cycles"));
check("changes are told and drawn", q("#history tbody tr") && qa("#history svg.chart").length === 1);
check("figures of others stand beside ours", q("#others").textContent.includes("× ours"));
check("placements are a bar", cell("freertos", "isr.return").querySelector("svg.spread").getAttribute("aria-label") === "80 to 90 in 3 placements");
// Links.
w.location.hash = "#settings-2";
await wait(200);
check("a link shows its chip", seen(q("#block-2")) && !seen(q("#block-1")));
check("and opens what is folded", q("#settings-2 details").open);
await click("input[name=chip][value=one]");
const details = d.getElementById("s1-thread.yield");
await click('#block-1 tr[data-scenario="thread.yield"] a');
await wait(100);
check("a name opens its scenario", details.open && seen(details.querySelector("table")));
check("its samples are drawn", details.querySelectorAll("svg.chart g[data-kernel]").length >= 2);
check("the command is told", details.textContent.includes("rtmark run --scenario thread.yield --soc one --kernel floor freertos rtic"));
check("it leads to the worst case", details.querySelector("a[href='#worst']").textContent.includes("61 cycles"));
// Every link within the page leads somewhere.
const astray = qa('a[href^="#"]').filter((link) => !d.getElementById(decodeURIComponent(link.hash.slice(1))));
check("links lead somewhere: " + astray.slice(0, 3).map((link) => link.hash), astray.length === 0);
const ids = qa("[id]").map((each) => each.id);
check("no name is given twice", new Set(ids).size === ids.length);
// For keyboards and screen readers.
check("controls have names", qa("input, select").every((input) => input.labels.length > 0));
check("all can be reached by keyboard", [...heads, fold].every((each) => each.tabIndex === 0));
check("pictures have names", qa("svg:not([aria-hidden])").every((svg) => svg.getAttribute("role") === "img" && svg.getAttribute("aria-label")));
check("heads of tables have scopes", qa("table th").every((head) => head.scope));
check("one heading of the first rank", qa("h1").length === 1);
