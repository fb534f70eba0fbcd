// Draws a flame graph, a timeline, and interrupt latency over a stretch of a run.
import { createSvg, grouped, percent } from "./format.js";

const ROW = 20;
const LETTER = 6.7; // approximate width of a letter in pixels
const width = (to) => Math.max(to.clientWidth, 280);
const short = (text, room) => (text.length * LETTER <= room ? text : room < 4 * LETTER ? "" : `${text.slice(0, Math.floor(room / LETTER) - 1)}…`);
const tint = (name) => `tint${[...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 997, 7) % 6}`;
const observers = new WeakMap();
/** Calls `draw` now, and again whenever the container changes its width. */
const drawOnResize = (to, draw) => {
  observers.get(to)?.disconnect();
  let last = 0;
  const observer = new ResizeObserver(() => {
    if (width(to) === last) return;
    last = width(to);
    // Drawing changes the page's height; deferring it keeps the observer from reporting a loop.
    requestAnimationFrame(() => draw(last));
  });
  observer.observe(to);
  observers.set(to, observer);
};
const box = (kind, x, y, w, text, title) => {
  const group = createSvg("g", { class: kind });
  group.append(createSvg("title", {}, title), createSvg("rect", { x, y, width: Math.max(w, 0.6), height: ROW - 1 }));
  const label = short(text, w - 6);
  if (label) group.append(createSvg("text", { x: x + 3, y: y + 14 }, label));
  return group;
};

const tree = (folded) => {
  const root = { name: "all", cycles: 0, calls: new Map() };
  for (const [path, cycles] of folded) {
    let at = root;
    at.cycles += cycles;
    for (const name of path.split(";").slice(0, 200)) {
      if (!at.calls.has(name)) at.calls.set(name, { name, cycles: 0, calls: new Map() });
      at = at.calls.get(name);
      at.cycles += cycles;
    }
  }
  return root;
};

/** Draws folded stacks as a flame graph; selecting a function zooms in. */
export const flame = (to, folded) => {
  const root = tree(folded);
  let path = [root];
  const draw = (wide) => {
    const top = path.at(-1);
    const picture = createSvg("svg", { width: wide, role: "group", "aria-label": "Where the cycles go: stacks of functions" });
    let deepest = 0;
    const put = (node, x, w, depth, above) => {
      deepest = Math.max(deepest, depth);
      const group = box(`frame ${node === root ? "" : tint(node.name)}`, x, depth * ROW, w, node.name, `${node.name}: ${grouped(node.cycles)} cycles, ${percent(node.cycles, root.cycles)}`);
      const choose = () => {
        path = node === top && above.length > 1 ? above.slice(0, -1) : above;
        draw(width(to));
        to.querySelector("[tabindex]")?.focus();
      };
      group.addEventListener("click", choose);
      // Only frames wide enough to read can be reached by keyboard.
      if (w > 40) {
        for (const [key, value] of Object.entries({ tabindex: 0, role: "button", "aria-label": `${node.name}, ${percent(node.cycles, root.cycles)}` })) group.setAttribute(key, value);
        group.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          choose();
        });
      }
      picture.append(group);
      let at = x;
      for (const child of [...node.calls.values()].sort((one, other) => other.cycles - one.cycles)) {
        const part = (w * child.cycles) / Math.max(node.cycles, 1);
        if (part >= 0.5 && depth < 60) put(child, at, part, depth + 1, [...above, child]);
        at += part;
      }
    };
    path.slice(0, -1).forEach((node, depth) => put({ ...node, calls: new Map() }, 0, wide, depth, path.slice(0, depth + 1)));
    put(top, 0, wide, path.length - 1, path);
    picture.setAttribute("height", (deepest + 1) * ROW);
    to.replaceChildren(picture);
  };
  drawOnResize(to, draw);
};

/** Draws which task or handler ran when. `go` is called with the selected cycle. */
export const lanes = (to, { lanes: all, from, to: until }, go) => {
  const draw = (wide) => {
    const left = Math.min(180, wide / 3);
    const scale = (wide - left) / Math.max(until - from, 1);
    const picture = createSvg("svg", { width: wide, height: (all.length + 1) * (ROW + 4), role: "img", "aria-label": `What ran when: ${all.map((lane) => `${lane.name}, ${lane.of} times`).join("; ")}` });
    all.forEach((lane, at) => {
      const y = at * (ROW + 4);
      const name = createSvg("text", { x: 0, y: y + 14, class: "name" }, short(lane.name, left - 8));
      name.append(createSvg("title", {}, lane.name));
      picture.append(name, createSvg("line", { x1: left, x2: wide, y1: y + ROW + 1, y2: y + ROW + 1, class: "rule" }));
      for (const [begin, end, what] of lane.spans) {
        const kind = what === "ready" ? "ready" : lane.category;
        picture.append(box(`lane ${kind}`, left + (begin - from) * scale, y, (end - begin) * scale, lane.category === "task" ? "" : what, `${lane.name}, ${what}: cycles ${grouped(begin)} to ${grouped(end)}`));
      }
    });
    const y = all.length * (ROW + 4) + 14;
    picture.append(createSvg("text", { x: left, y }, `cycle ${grouped(from)}`), createSvg("text", { x: wide, y, "text-anchor": "end" }, grouped(until)));
    picture.addEventListener("click", (event) => {
      const x = event.clientX - picture.getBoundingClientRect().left;
      if (x >= left) go(Math.round(from + (x - left) / scale));
    });
    to.replaceChildren(picture);
  };
  drawOnResize(to, draw);
};

/** Draws the least and greatest latency in each slice of a stretch. `go` is called with the selected cycle. */
export const curve = (to, { slices, of, from, to: until, point, worst }, go) => {
  const draw = (wide) => {
    const [left, high, below] = [52, 180, 24];
    const most = Math.max(1, ...slices.map(([, , value]) => value));
    const x = (slice) => left + ((wide - left - 4) * slice) / of;
    const y = (cycles) => 8 + (high - 8) * (1 - cycles / most);
    const picture = createSvg("svg", { width: wide, height: high + below, role: "img", "aria-label": `Latency over the path, at most ${grouped(most)} cycles` });
    for (const value of [0, most / 2, most]) {
      picture.append(createSvg("line", { x1: left, x2: wide - 4, y1: y(value), y2: y(value), class: "rule" }), createSvg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, grouped(value)));
    }
    const step = (wide - left - 4) / of;
    for (const [slice, least, value] of slices) {
      const bar = createSvg("rect", { x: x(slice), y: y(value), width: Math.max(step, 1), height: Math.max(y(least) - y(value), 1.5), class: "band" });
      bar.append(createSvg("title", {}, `cycle ${grouped(from + ((until - from) * slice) / of)}: ${grouped(least)} to ${grouped(value)} cycles`));
      picture.append(bar);
    }
    if (point !== undefined) {
      const at = left + ((wide - left - 4) * (point - from)) / Math.max(until - from, 1);
      picture.append(createSvg("circle", { cx: at, cy: y(worst), r: 5, class: "witness" }));
    }
    picture.append(createSvg("text", { x: left, y: high + 18 }, `cycle ${grouped(from)}`), createSvg("text", { x: wide - 4, y: high + 18, "text-anchor": "end" }, grouped(until)));
    picture.addEventListener("click", (event) => {
      const share = (event.clientX - picture.getBoundingClientRect().left - left) / (wide - left - 4);
      if (share >= 0 && share <= 1) go(Math.round(from + share * (until - from)));
    });
    to.replaceChildren(picture);
  };
  drawOnResize(to, draw);
};
