// Numbers and names as they are shown, and elements made of text alone.

export const get = (id) => document.getElementById(id);
export const grouped = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
export const hex = (number) => `0x${number.toString(16).padStart(8, "0")}`;
export const percent = (part, whole) => `${((100 * part) / Math.max(whole, 1)).toFixed(1)} %`;

/** Cycles as time on a chip with this clock. */
export const time = (cycles, clock) => {
  const seconds = cycles / clock;
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(2)} µs`;
  return seconds < 1 ? `${(seconds * 1e3).toFixed(3)} ms` : `${seconds.toFixed(3)} s`;
};

/** A number as people write it, hexadecimal too; NaN where it is none. */
export const parsed = (text) => {
  const plain = text.replace(/[\s_\u202f]/g, "");
  return /^(0x[0-9a-f]+|\d+)$/i.test(plain) ? Number(plain) : NaN;
};

/** An element with a class and text or children. */
export const made = (name, kind, ...inside) => {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  element.append(...inside);
  return element;
};

/** An element of a picture. */
export const drawn = (name, attributes, ...inside) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
};

/** A button that looks like a link. */
export const link = (text, what) => {
  const button = made("button", "link", text);
  button.type = "button";
  button.addEventListener("click", what);
  return button;
};

/** Rows of cells as a table’s body; the columns that are not among `text` are numbers. A table without
 *  rows is not shown, nor is what it lies in. */
export const fill = (table, rows, text = [0]) => {
  const kind = (at) => (text.includes(at) ? "" : "number");
  const row = (cells) => made("tr", "", ...cells.map((cell, at) => made("td", kind(at), cell ?? "")));
  table.tBodies[0].replaceChildren(...rows.map(row));
  [...table.tHead.rows[0].cells].forEach((cell, at) => { cell.className = kind(at); });
  (table.closest(".scroll") ?? table).hidden = rows.length === 0;
};
