"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const root = document.documentElement;
  root.classList.add("scripted");
  const form = document.getElementById("controls");
  const figures = document.getElementById("figures");
  for (const each of [form, figures]) each.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  const chosen = (name) => (document.querySelector(`input[name=${name}]:checked`) || {}).value || "";
  const picker = (name) => document.querySelector(`select[name=${name}]`);
  const selected = (name) => picker(name).value;
  const views = all(".block");
  let view = views[0];

  // What stays at the top is as high as what is above it.
  new ResizeObserver(() => {
    const sticks = getComputedStyle(form).position === "sticky";
    root.style.setProperty("--top", `${sticks ? form.offsetHeight : 0}px`);
  }).observe(form);

  // Numbers as the page has them: all digits up to five, then four.
  const grouped = (number) => {
    const digits = String(number);
    return digits.length > 4 ? digits.replace(/\B(?=(\d{3})+$)/g, " ") : digits;
  };
  const short = (number) => {
    if (number < 1e5) return grouped(number);
    const [unit, letter] = number < 1e6 ? [1e3, "k"] : number < 1e9 ? [1e6, "M"] : [1e9, "G"];
    const value = number / unit;
    return value.toFixed((value < 999.95 ? 1 : 0) + (value < 9.995 ? 1 : 0)) + letter;
  };
  const micro = (cycles, clock) => {
    const value = (cycles * 1e6) / clock;
    if (value >= 1e5) return short(Math.round(value));
    return value >= 1000 ? grouped(Math.round(value)) : value.toFixed(value >= 99.95 ? 1 : 2);
  };
  const times = (ratio) => (ratio < 9.95 ? ratio.toFixed(ratio < 1.995 ? 2 : 1) : short(Math.round(ratio)));
  const heat = (ratio) => {
    const steps = [1.005, 1.25, 1.75, 2.5, 4];
    const step = steps.findIndex((below) => ratio < below);
    return "h" + (step < 0 ? 5 : step);
  };

  // One cell's figure among the samples that were chosen.
  const figure = (cell, of) => (cell.dataset[of] === undefined ? null : Number(cell.dataset[of]));
  const numbers = (row) => [...row.cells].filter((cell) => cell.dataset.c !== undefined);
  const other = () => views.find((each) => each.id === selected("against"));
  const inOther = (base, row, cell) => {
    const same = base.querySelector(`tr[data-scenario="${CSS.escape(row.dataset.scenario)}"]`);
    return same && numbers(same).find((each) => each.dataset.kernel === cell.dataset.kernel);
  };
  // Why figures are not compared: what is measured differs, or on what.
  const unlike = (base, before, cell) => {
    if (before.dataset.span !== cell.dataset.span) return "≠ span";
    if (before.dataset.layouts !== cell.dataset.layouts) return "≠ layouts";
    if (base.dataset.clock !== view.dataset.clock) return "≠ clock";
    return base.dataset.soc === view.dataset.soc ? "" : "≠ soc file";
  };
  // What a cell shows, and the class of its colour.
  const shown = (cell, row, state) => {
    const value = figure(cell, state.of);
    if (value === null) return ["–", ""];
    if (state.base) {
      const before = inOther(state.base, row, cell);
      if (!before) return ["new", ""];
      const why = unlike(state.base, before, cell);
      if (why) return [why, ""];
      const was = figure(before, state.of);
      if (was === null) return ["–", ""];
      if (was === value) return ["=", ""];
      const change = was > 0 ? ((value - was) / was) * 100 : 100;
      const text = Math.abs(change) < 0.05 ? "0.0" : Math.abs(change).toFixed(Math.abs(change) < 9.95 ? 1 : 0);
      state.differ += 1;
      return [`${value > was ? "+" : "−"}${text} %`, Math.abs(change) < 1 ? "" : value > was ? "worse" : "good"];
    }
    const ranked = state.best !== null && cell.dataset.kernel !== "floor" && row.dataset.ranked !== undefined;
    const colour = ranked ? heat(state.best > 0 ? value / state.best : value > 0 ? 9 : 1) : "";
    if (state.unit === "time" && state.clock) return [micro(value, state.clock), colour];
    if (state.unit === "best") return [state.least > 0 ? times(value / state.least) : "–", colour];
    return [short(value), colour];
  };
  const selection = (select) => select.selectedOptions[0].textContent;
  const words = { c: "Typical", f: "First samples,", m: "Longest samples,", e: "From emptied caches," };
  const render = () => {
    const unit = chosen("unit");
    const of = selected("of");
    const clock = Number(view.dataset.clock) || 0;
    const state = { unit, of, clock, base: other(), differ: 0 };
    for (const row of all(".matrix tr[data-scenario]", view)) {
      const cells = numbers(row);
      const kernels = cells.filter((cell) => !cell.hidden && cell.dataset.kernel !== "floor" && figure(cell, of) !== null);
      const figures = kernels.map((cell) => figure(cell, of));
      state.best = figures.length > 1 ? Math.min(...figures) : null;
      state.least = figures.length ? Math.min(...figures) : 0;
      for (const cell of cells) {
        const [text, colour] = shown(cell, row, state);
        cell.querySelector(".v").textContent = text;
        cell.className = colour;
        const spread = cell.querySelector(".spread");
        if (spread) spread.style.visibility = of === "c" && !state.base ? "" : "hidden";
      }
    }
    const name = state.base ? "change" : unit === "time" && clock ? "µs" : unit === "best" ? "times the row’s best" : view.dataset.unit;
    for (const place of all(".unit", view)) place.textContent = name;
    for (const place of all(".what-is-shown", view))
      place.textContent = state.base
        ? `Change of the ${selection(picker("of"))} samples`
        : `${words[of]} ${name}` + (of === "c" ? ": the median of the steady samples" : "");
    for (const place of all(".legend", view)) place.hidden = Boolean(state.base);
    for (const place of all(".legend-of-changes", view)) place.hidden = !state.base;
    tell(state);
  };

  // What is compared, and which settings differ.
  const settings = (from) => {
    const table = from.querySelector("[id^=settings] table");
    const found = new Map();
    for (const row of table ? table.tBodies[0].rows : [])
      for (const cell of row.cells)
        if (cell.dataset.kernel) found.set(`${row.cells[0].textContent} ${cell.dataset.kernel}`, [row.cells[0].textContent, cell.textContent]);
    return found;
  };
  const builds = (from) => new Map(all("th[data-version]", from).map((each) => [each.dataset.kernel, each.dataset]));
  const tell = (state) => {
    const place = view.querySelector(".difference");
    if (!place) return;
    place.hidden = !state.base;
    if (!state.base) return;
    const [before, after] = [settings(state.base), settings(view)];
    const names = new Set();
    for (const [key, [name, value]] of after)
      if (before.has(key) && before.get(key)[1] !== value) names.add(name);
    const was = builds(state.base);
    for (const [kernel, is] of builds(view)) {
      const old = was.get(kernel);
      if (old && old.version !== is.version) names.add(`version of ${kernel}`);
      if (old && old.compiler !== is.compiler) names.add(`compiler of ${kernel}`);
    }
    const models = [state.base.dataset.model, view.dataset.model];
    place.textContent =
      `${view.dataset.build} compared with ${state.base.dataset.build}: ${state.differ} figures differ. ` +
      (names.size ? `Settings that differ: ${[...names].join(", ")}. ` : "No setting differs. ") +
      (models[0] !== models[1] ? `The timing models differ too (${models.join(" and ")}), which by itself changes figures.` : "");
  };

  // Which chip, in which build.
  const against = picker("against");
  const offers = () => {
    const kept = against.value;
    const rivals = views.filter((each) => each !== view && each.dataset.chip === view.dataset.chip && each.dataset.unit === view.dataset.unit);
    against.replaceChildren(new Option("nothing", ""), ...rivals.map((each) => new Option(each.dataset.build, each.id)));
    against.value = rivals.some((each) => each.id === kept) ? kept : "";
    against.closest("label").hidden = rivals.length === 0;
  };
  const showView = () => {
    const [chip, build] = [chosen("chip"), chosen("build")];
    const of = views.filter((each) => each.dataset.chip === chip);
    view = of.find((each) => each.dataset.build === build) || of[0] || views[0];
    for (const each of views) each.hidden = each !== view;
    for (const input of all("input[name=build]")) {
      input.disabled = !of.some((each) => each.dataset.build === input.value);
      if (view && input.value === view.dataset.build) input.checked = true;
    }
    const table = view && view.querySelector("[id^=operations] .key");
    figures.hidden = !table;
    if (table) table.before(figures);
    if (!view) return;
    document.getElementById("counted").textContent = view.dataset.unit;
    for (const input of all("input[name=unit][value=time]")) {
      input.disabled = !view.dataset.clock;
      if (input.disabled && input.checked) figures.querySelector("input[name=unit][value=count]").checked = true;
    }
    offers();
    filter();
    render();
  };
  // Which kernels: everything of one says whose it is.
  const showKernels = () => {
    const off = new Set(all("input[name=kernel]:not(:checked)").map((box) => box.value));
    for (const each of all("main [data-kernel]")) each.toggleAttribute("hidden", off.has(each.dataset.kernel));
    if (view) render();
  };
  const showTheme = () => {
    const theme = selected("theme");
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  // Which scenarios: those whose names hold every word.
  const field = document.getElementById("filter");
  const filter = () => {
    const wanted = field.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
    for (const row of all("main [data-scenario]"))
      row.hidden = !wanted.every((word) => row.dataset.scenario.includes(word));
    for (const group of all(".matrix tbody.group")) {
      const rows = all("tr[data-scenario]", group);
      group.hidden = rows.length > 0 && rows.every((row) => row.hidden);
    }
    const rows = view ? all(".matrix tr[data-scenario]", view) : [];
    const found = rows.filter((row) => !row.hidden).length;
    document.getElementById("shown").textContent = wanted.length ? `${found} of ${rows.length}` : "";
  };

  const button = (span) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = span.className;
    made.textContent = span.textContent;
    span.replaceWith(made);
    return made;
  };
  // Groups fold.
  for (const group of all(".matrix tbody.group")) {
    const made = button(group.querySelector(".fold"));
    made.setAttribute("aria-expanded", "true");
    made.addEventListener("click", () => {
      const open = made.getAttribute("aria-expanded") === "false";
      made.setAttribute("aria-expanded", String(open));
      for (const row of all("tr[data-scenario]", group)) row.classList.toggle("folded", !open);
    });
  }
  // Sorting within groups by a column: ascending, descending, and as it was.
  for (const table of all(".matrix")) {
    const heads = all("thead th", table);
    const original = new Map(all("tbody.group", table).map((body) => [body, all("tr[data-scenario]", body)]));
    heads.forEach((head, column) => {
      const made = button(head.querySelector(".sort"));
      made.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
        for (const each of heads) each.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", next);
        const way = next === "descending" ? -1 : 1;
        const key = (row) => (column === 0 ? row.dataset.scenario : figure(row.cells[column], selected("of")));
        for (const [body, rows] of original) {
          const sorted = [...rows];
          if (next !== "none") sorted.sort((a, b) => {
            const [x, y] = [key(a), key(b)];
            // What has no figure stays below, whichever way.
            if (x === null || y === null) return (x === null) - (y === null);
            return way * (x < y ? -1 : x > y ? 1 : 0);
          });
          body.append(...sorted);
        }
      });
    });
  }
  // A note is shown beside its number.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.append(tip);
  const hide = () => { tip.hidden = true; };
  document.addEventListener("click", (event) => {
    const mark = event.target.closest && event.target.closest("a.mark");
    const note = mark && document.getElementById(decodeURIComponent(mark.hash.slice(1)));
    if (!note) return hide();
    event.preventDefault();
    tip.textContent = note.textContent;
    tip.hidden = false;
    const box = mark.getBoundingClientRect();
    const left = Math.min(Math.max(box.left - 20, 8), root.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${box.bottom + scrollY + 4}px`;
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // A link shows what it leads to: the chip and the build, and what is folded.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const of = target.closest(".block");
    if (of && of !== view) {
      for (const name of ["chip", "build"])
        for (const input of all(`input[name=${name}]`)) input.checked = input.value === of.dataset[name];
      showView();
    }
    const inside = target.querySelector(":scope > details");
    if (inside) inside.open = true;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  for (const link of all('a[href^="#"]:not(.mark)')) link.addEventListener("click", () => setTimeout(follow));

  const on = (name, action) => all(`[name=${name}]`).filter((each) => each.form).forEach((input) => input.addEventListener("change", action));
  on("chip", showView); on("build", showView); on("kernel", showKernels); on("theme", showTheme);
  on("unit", render); on("of", render); on("against", render);
  field.addEventListener("input", filter);
  showView();
  follow();
})();
