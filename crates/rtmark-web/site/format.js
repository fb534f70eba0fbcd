// Formats numbers and builds elements; text never becomes markup.

export const get = (id) => document.getElementById(id);
export const grouped = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
export const hex = (number) => `0x${number.toString(16).padStart(8, "0")}`;
export const percent = (part, whole) => `${((100 * part) / Math.max(whole, 1)).toFixed(1)} %`;

/** Formats a time in nanoseconds. */
export const formatTime = (nanoseconds) => {
  const seconds = nanoseconds / 1e9;
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(2)} µs`;
  return seconds < 1 ? `${(seconds * 1e3).toFixed(3)} ms` : `${seconds.toFixed(3)} s`;
};

/** Formats a frequency in hertz. */
export const formatClock = (hertz) => (hertz < 1e6 ? `${hertz / 1e3} kHz` : `${hertz / 1e6} MHz`);

/** Returns the name of an interrupt; a Cortex-M’s own have CMSIS’s numbers. */
export const interruptName = (number) => ({ "-1": "SysTick", "-2": "PendSV" })[number] ?? `interrupt ${number}`;

/** Parses a decimal or hexadecimal number, with or without separators; returns NaN for other text. */
export const parseNumber = (text) => {
  const plain = text.replace(/[\s_\u202f]/g, "");
  return /^(0x[0-9a-f]+|\d+)$/i.test(plain) ? Number(plain) : NaN;
};

/** Creates an element with a class, and text or children. */
export const createElement = (name, kind, ...inside) => {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  element.append(...inside);
  return element;
};

/** Creates an SVG element. */
export const createSvg = (name, attributes, ...inside) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
};

/** Creates a button that looks like a link. */
export const link = (text, what) => {
  const button = createElement("button", "link", text);
  button.type = "button";
  button.addEventListener("click", what);
  return button;
};

/** Replaces a table’s rows. Columns are numbers except those listed in `text`. An empty table is hidden,
 *  together with its scroll box. */
export const fillTable = (table, rows, text = [0]) => {
  const kind = (column) => (text.includes(column) ? "" : "number");
  const row = (cells) => createElement("tr", "", ...cells.map((cell, at) => createElement("td", kind(at), cell ?? "")));
  table.tBodies[0].replaceChildren(...rows.map(row));
  [...table.tHead.rows[0].cells].forEach((cell, at) => { cell.className = kind(at); });
  (table.closest(".scroll") ?? table).hidden = rows.length === 0;
};
