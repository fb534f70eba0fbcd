"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
  const controls = document.getElementById("controls");
  controls.hidden = false;
  controls.addEventListener("submit", (event) => event.preventDefault());
  if (all(".block").length < 2) document.getElementById("socs").hidden = true;

  // Which soc.
  const showBlock = () => {
    for (const block of all(".block")) block.hidden = block.id !== "block-" + chosen("block");
    filter();
  };
  // Which figure.
  const showFigure = () => { root.dataset.figure = chosen("figure"); };
  // Which kernels: every cell says whose it is.
  const showKernels = () => {
    const off = new Set(all("input[name=kernel]:not(:checked)").map((box) => box.value));
    for (const cell of all("main [data-kernel]")) cell.hidden = off.has(cell.dataset.kernel);
    for (const chart of charts.values()) chart.show(off);
  };
  const showTheme = () => {
    if (chosen("theme") === "auto") delete root.dataset.theme;
    else root.dataset.theme = chosen("theme");
    redraw();
  };
  // Which scenarios: those whose names hold every word.
  const field = document.getElementById("filter");
  const filter = () => {
    const words = field.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
    for (const row of all("main [data-scenario]"))
      row.hidden = !words.every((word) => row.dataset.scenario.includes(word));
    const rows = all(".block:not([hidden]) .matrix tbody tr");
    const shown = rows.filter((row) => !row.hidden).length;
    document.getElementById("shown").textContent = words.length ? `${shown} of ${rows.length}` : "";
  };

  // Sorting by a column: ascending, descending, and as it was.
  const sortKey = (row, column) => {
    if (column === 0) return row.dataset.scenario;
    const cell = row.cells[column];
    const figure = root.dataset.figure;
    const part = { first: ".f", emptied: ".e", max: ".m" }[figure];
    if (part) {
      const shown = cell.querySelector(part);
      return shown && Number(shown.textContent.replaceAll(" ", ""));
    }
    const key = { time: "time", multiple: "multiple" }[figure] || "count";
    return cell.dataset[key] === undefined ? null : Number(cell.dataset[key]);
  };
  for (const table of all(".matrix")) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    all("thead th", table).forEach((head, column) => {
      const span = head.querySelector(".sort");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = span.textContent;
      span.replaceWith(button);
      button.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
        for (const other of all("thead th", table)) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", next);
        const rows = [...original];
        const way = next === "descending" ? -1 : 1;
        if (next !== "none") rows.sort((a, b) => {
          const [x, y] = [sortKey(a, column), sortKey(b, column)];
          // What has no figure stays below, whichever way.
          if (x === null || y === null) return (x === null) - (y === null);
          return way * (x < y ? -1 : x > y ? 1 : 0);
        });
        body.append(...rows);
      });
    });
  }

  // Charts: each is drawn when it first has a width, and again when that or the colours change.
  const charts = new Map();
  const kernels = all("input[name=kernel]").map((box) => box.value);
  const variable = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const colour = (line) => {
    if (line.colour) return variable(line.colour);
    const index = kernels.indexOf(line.kernel);
    return variable(index < 0 ? "--mark" : `--k${index % 8}`);
  };
  const dashes = [[], [], [7, 3], [2, 2], [9, 3, 2, 3], [5, 2], [1, 3], [12, 4]];
  const short = (value) => {
    if (value === null || value === undefined) return "–";
    if (Math.abs(value) < 1e5) return String(value);
    return Math.abs(value) < 1e6 ? `${+(value / 1e3).toFixed(1)}k` : `${+(value / 1e6).toFixed(2)}M`;
  };
  const series = (spec, line) => {
    const stroke = colour(line);
    const fill = line.style === "columns" ? stroke : undefined;
    const paths = {
      steps: uPlot.paths.stepped({ align: 1 }),
      band: uPlot.paths.stepped({ align: 1 }),
      columns: uPlot.paths.bars({ size: [0.8, 24, 2] }),
    }[line.style];
    const several = spec.lines.length > 1;
    const points = { show: line.style === "line" || line.style === "runs", size: 5, fill: stroke };
    const dash = line.style === "line" && several ? dashes[Math.max(kernels.indexOf(line.kernel), 0) % 8] : [];
    const width = { runs: 3, steps: 1, band: 1 }[line.style] || 1.5;
    return { label: line.name, stroke, fill, paths, points, dash, width, value: (_, value) => short(value) };
  };
  const options = (spec, width) => {
    const axis = { stroke: variable("--aside"), grid: { stroke: variable("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif", labelFont: "11px system-ui, sans-serif", labelSize: 18, gap: 3 };
    const values = (_, splits) => splits.map(short);
    const across = { ...axis, label: spec.across, size: 24, values, filter: (_, splits) => splits };
    if (spec.doubling) across.splits = () => [...new Set(spec.lines.flatMap((line) => line.points.map((point) => point[0])))].sort((a, b) => a - b);
    if (spec.places) {
      across.incrs = [1, 2, 5, 10, 20, 50, 100];
      across.values = (_, splits) => splits.map((at) => (spec.places[at] || "").slice(0, 10));
    }
    const size = (_, values) => 12 + 7 * Math.max(3, ...(values || []).map((value) => value.length));
    const pad = (low, high) => (low === high ? 1 : (high - low) * 0.04);
    const x = { time: false, distr: spec.doubling ? 3 : 1, log: 2 };
    if (!spec.doubling) x.range = (_, low, high) => [low - pad(low, high), high + pad(low, high)];
    const range = (_, low, high) => {
      if (low === null) return [0, 1];
      if (spec.zoomed) return [low - Math.max(pad(low, high), 1), high + Math.max(pad(low, high), 1)];
      return [Math.min(0, low), Math.max(high, 1) * 1.06];
    };
    const bands = spec.lines.flatMap((line, index) =>
      line.style === "band" ? [{ series: [index + 1, index], fill: colour(line) + "55" }] : []);
    return {
      width, height: 190, bands, axes: [across, { ...axis, label: spec.up, size, values }],
      scales: { x, y: { range } },
      series: [{ label: spec.across, value: (_, at) => (spec.places ? spec.places[at] || "–" : short(at)) }, ...spec.lines.map((line) => series(spec, line))],
      cursor: { drag: { x: false, y: false } },
    };
  };
  const tables = (spec) => uPlot.join(spec.lines.map((line) => [line.points.map((point) => point[0]), line.points.map((point) => point[1])]));
  const widths = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const chart = charts.get(target);
      const width = Math.floor(contentRect.width);
      if (width < 40 || width === chart.width) continue;
      chart.width = width;
      // What is drawn changes sizes again, for which this round of them is over.
      requestAnimationFrame(() => {
        if (chart.plot) chart.plot.setSize({ width: chart.width, height: 190 });
        else chart.draw();
      });
    }
  });
  const add = (parent, spec, kernel) => {
    const figure = document.createElement("figure");
    if (kernel) figure.dataset.kernel = kernel;
    const caption = document.createElement("figcaption");
    caption.textContent = spec.title;
    const target = document.createElement("div");
    target.className = "plot";
    target.setAttribute("role", "img");
    target.setAttribute("aria-label", `${spec.title}; the figures stand in the table`);
    figure.append(caption, target);
    parent.append(figure);
    const chart = {
      width: 0,
      plot: null,
      off: new Set(),
      draw() {
        if (chart.plot) chart.plot.destroy();
        chart.plot = new uPlot(options(spec, chart.width), tables(spec), target);
        chart.show(chart.off);
      },
      show(off) {
        chart.off = off;
        if (!chart.plot || kernel || new Set(spec.lines.map((line) => line.kernel)).size < 2) return;
        spec.lines.forEach((line, index) => chart.plot.setSeries(index + 1, { show: !off.has(line.kernel) }));
      },
    };
    charts.set(target, chart);
    // What can be seen is drawn at once, what is folded when it comes into view.
    const width = Math.floor(target.clientWidth);
    if (width >= 40) {
      chart.width = width;
      chart.draw();
    }
    widths.observe(target);
  };
  const redraw = () => { for (const chart of charts.values()) if (chart.plot) chart.draw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // What is printed is dark on white, whatever the screen shows.
  addEventListener("beforeprint", redraw);
  addEventListener("afterprint", redraw);
  for (const target of all("[data-charts]"))
    for (const spec of data.charts[target.dataset.charts] || []) add(target, spec);

  // Samples in their order, the first one and those that something hit apart:
  // [length, how many, whether hit].
  const sequence = ({ kernel, name, runs, total }) => {
    const lines = { first: [], steady: [], hit: [] };
    let at = 0;
    runs.forEach(([value, times, hit], index) => {
      const points = lines[index === 0 ? "first" : hit ? "hit" : "steady"];
      points.push([at, value]);
      if (times > 1) points.push([at + times - 1, value]);
      points.push([at + times - 0.5, null]);
      at += times;
    });
    const line = (part, colour) => ({ name: part, kernel, colour, style: "runs", points: lines[part] });
    const shown = [line("steady"), line("first", "--first"), line("hit", "--hit")].filter((line) => line.points.length);
    return { title: `${name}: ${total} samples in their order, the first one apart`, across: "sample", up: "length", zoomed: true, lines: shown };
  };
  const histogram = ({ kernel, name, bins }) => ({
    title: `${name}: how often each length came`, across: "length", up: "samples",
    lines: [{ name: "samples", kernel, style: "columns", points: bins }],
  });
  const drawSamples = (details) => {
    const target = details.querySelector(".samples");
    if (!target || target.childElementCount) return;
    for (const drawn of (data.samples[details.dataset.block] || {})[details.dataset.scenario] || []) {
      add(target, sequence(drawn), drawn.kernel);
      add(target, histogram(drawn), drawn.kernel);
    }
    showKernels();
  };
  for (const details of all("details.scenario"))
    details.addEventListener("toggle", () => { if (details.open) drawSamples(details); });
  // A link shows what it leads to: the soc, and what is folded.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const block = target.closest(".block");
    const radio = block && document.querySelector(`input[name=block][value="${block.id.slice("block-".length)}"]`);
    if (radio && !radio.checked) { radio.checked = true; showBlock(); }
    const folded = target.closest("details") || target.querySelector(":scope > details");
    if (folded) folded.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", follow);
  for (const link of all('a[href^="#"]')) link.addEventListener("click", () => setTimeout(follow));

  const on = (name, action) =>
    all(`input[name=${name}]`).forEach((input) => input.addEventListener("change", action));
  on("block", showBlock); on("figure", showFigure); on("kernel", showKernels); on("theme", showTheme);
  field.addEventListener("input", filter);
  showBlock();
  follow();
})();
