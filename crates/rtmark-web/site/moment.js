// Shows one moment: registers, code, memory, console.
import { get, hex, link, createElement } from "./format.js";

/** The registers of the previously shown moment, to mark changes. */
let previous = new Map();

const registers = (all, look) => {
  const shown = ([name, value]) => {
    const changed = previous.has(name) && previous.get(name) !== value;
    const what = link(hex(value), () => look(value));
    what.title = "Show the memory there";
    const pair = createElement("div", changed ? "changed" : "", createElement("dt", "", name), createElement("dd", "", what));
    if (changed) pair.title = `before: ${hex(previous.get(name))}`;
    return pair;
  };
  const float = all.filter(([name]) => /^(s\d+|fpscr)$/.test(name));
  const core = all.filter((each) => !float.includes(each));
  get("registers").replaceChildren(...core.map(shown));
  get("float").replaceChildren(...float.map(shown));
  get("floats").hidden = float.length === 0;
  previous = new Map(all);
};

const code = (rows, pc) => {
  let last = "";
  const lines = rows.flatMap((row) => {
    const place = [row.line, row.function?.replace(/\+0x[0-9a-f]+$/, "")].filter(Boolean).join("  ");
    const cell = createElement("td", "place", place);
    cell.colSpan = 4;
    const head = place && place !== last ? [createElement("tr", "", cell)] : [];
    last = place;
    const line = createElement("tr", row.address === pc ? "here" : "", createElement("td", "", hex(row.address).slice(2)), createElement("td", "bits", row.bits), createElement("td", "", row.text), createElement("td", "aside", row.target ?? ""));
    if (row.address === pc) line.setAttribute("aria-current", "true");
    return [...head, line];
  });
  get("code").tBodies[0].replaceChildren(...lines);
  const scroll = get("code").parentElement;
  const here = get("code").querySelector(".here");
  if (here) scroll.scrollTop = here.offsetTop - scroll.clientHeight / 3;
};

const memory = (address, digits) => {
  const bytes = digits.match(/../g) ?? [];
  const rows = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const part = bytes.slice(at, at + 16);
    const letter = (byte) => { const code = parseInt(byte, 16); return code > 31 && code < 127 ? String.fromCharCode(code) : "·"; };
    const words = part.join("").match(/.{1,8}/g).map((word) => word.match(/../g).join(" ")).join("  ");
    rows.push(`${hex(address + at).slice(2)}  ${words.padEnd(50)}  ${part.map(letter).join("")}`);
  }
  get("memory").textContent = rows.join("\n") || `no memory at ${hex(address)}`;
};

const where = (moment) => {
  const parts = [moment.function ?? hex(moment.pc), moment.line, moment.inlined.length ? `inlined: ${moment.inlined.join(" > ")}` : "", moment.handler ? `in the handler of ${moment.handler}` : "", moment.mask ? `interrupts held back by ${moment.mask}` : "", moment.asleep ? "asleep" : ""];
  if (moment.access) {
    const [address, bytes, way] = moment.access;
    parts.push(`next ${way}s ${bytes} bytes at ${hex(address)}`);
  }
  if (moment.resets) parts.push(`since reset ${moment.resets} by the program`);
  get("where").textContent = parts.filter(Boolean).join(" · ");
};

/** Shows a moment. `look` is called with an address whose memory the user wants to see. */
export const show = (moment, look) => {
  get("panels").hidden = false;
  where(moment);
  code(moment.code, moment.pc);
  registers(moment.registers, look);
  memory(moment.memory, moment.bytes);
  const text = get("console");
  text.textContent = moment.console;
  text.scrollTop = text.scrollHeight;
};

/** Clears the panels. */
export const forget = () => {
  previous = new Map();
  for (const id of ["registers", "float", "memory", "console", "where"]) get(id).replaceChildren();
  get("code").tBodies[0].replaceChildren();
};
