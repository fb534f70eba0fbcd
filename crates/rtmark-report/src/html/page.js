"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
  document.getElementById("controls").hidden = false;
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
  };
  const showTheme = () => {
    if (chosen("theme") === "auto") delete root.dataset.theme;
    else root.dataset.theme = chosen("theme");
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
    const key = { time: "time", multiple: "multiple" }[root.dataset.figure] || "count";
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

  // Charts are drawn when a scenario is opened.
  const svg = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const W = 320, H = 110, LEFT = 52, BOTTOM = 18;
  const frame = (low, high, below) => {
    const picture = svg("svg", { width: W, height: H, viewBox: `0 0 ${W} ${H}` });
    picture.append(svg("line", { class: "axis", x1: LEFT, x2: W, y1: H - BOTTOM, y2: H - BOTTOM }));
    picture.append(svg("text", { x: LEFT - 4, y: 12, "text-anchor": "end" }, high));
    picture.append(svg("text", { x: LEFT - 4, y: H - BOTTOM, "text-anchor": "end" }, low));
    picture.append(svg("text", { x: (W + LEFT) / 2, y: H - 4, "text-anchor": "middle" }, below));
    return picture;
  };
  // Samples in their order: [length, how many, 0 steady | 1 hit]; the first stands apart in colour.
  const sequence = (runs, total) => {
    const values = runs.map((run) => run[0]);
    const low = Math.min(...values), high = Math.max(...values);
    const picture = frame(low, high, `${total} samples in order`);
    let at = 0;
    runs.forEach(([value, times, hit], index) => {
      const x = (count) => LEFT + 3 + (count / Math.max(total - 1, 1)) * (W - LEFT - 6);
      const y = 6 + (high === low ? 0.5 : (high - value) / (high - low)) * (H - BOTTOM - 12);
      const style = index === 0 ? "first" : hit ? "hit" : "dot";
      const width = Math.max(x(at + times - 1) - x(at), 0) + 3;
      picture.append(svg("rect", { class: style, x: x(at) - 1.5, y: y - 1.5, width, height: 3, rx: 1.5 }));
      at += times;
    });
    return picture;
  };
  const histogram = (bins) => {
    const most = Math.max(...bins.map((bin) => bin[1]));
    const low = bins[0][0], high = bins[bins.length - 1][0];
    const picture = frame(0, most, low === high ? `${low}` : `${low} … ${high}`);
    bins.forEach(([value, times]) => {
      const share = high === low ? 0.5 : (value - low) / (high - low);
      const height = Math.max((times / most) * (H - BOTTOM - 8), 1);
      picture.append(svg("rect", { class: "column", x: LEFT + 2 + share * (W - LEFT - 8), y: H - BOTTOM - height, width: 4, height }));
    });
    return picture;
  };
  const draw = (details) => {
    const target = details.querySelector(".charts");
    if (!target || target.childElementCount) return;
    const series = (data[details.dataset.block] || {})[details.dataset.scenario] || {};
    for (const [kernel, { runs, bins, total }] of Object.entries(series)) {
      const figure = document.createElement("figure");
      figure.dataset.kernel = kernel;
      const caption = document.createElement("figcaption");
      caption.textContent = `${kernel}: samples in order (first one apart) and how often each length came`;
      figure.append(caption, sequence(runs, total), histogram(bins));
      target.append(figure);
    }
    showKernels();
  };
  for (const details of all("details.scenario"))
    details.addEventListener("toggle", () => { if (details.open) draw(details); });
  // A link into a scenario opens it.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") {
      const block = target.closest(".block").id.slice("block-".length);
      const radio = document.querySelector(`input[name=block][value="${block}"]`);
      if (radio && !radio.checked) { radio.checked = true; showBlock(); }
      target.open = true;
      target.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", follow);
  for (const link of all(".matrix a")) link.addEventListener("click", () => setTimeout(follow));

  const on = (name, action) =>
    all(`input[name=${name}]`).forEach((input) => input.addEventListener("change", action));
  on("block", showBlock); on("figure", showFigure); on("kernel", showKernels); on("theme", showTheme);
  field.addEventListener("input", filter);
  showBlock();
  follow();
})();
