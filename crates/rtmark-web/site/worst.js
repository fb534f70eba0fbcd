// Searches for the worst moment for an interrupt, in a separate worker.
import { fillTable, get, grouped, hex, interruptName, link, parseNumber, percent } from "./format.js";
import { curve } from "./pictures.js";
import { Session } from "./session.js";

/** Cycles to search by default. */
const DEFAULT_CYCLES = 1_000_000;
let search = null;

const setStatus = (text) => { get("worst-state").textContent = text; };
const setBusy = (running) => {
  get("worst-run").disabled = running;
  get("worst-stop").hidden = !running;
  get("worst-progress").hidden = !running;
};
const endSearch = () => {
  search?.end();
  search = null;
  setBusy(false);
};

/** Offers a chip’s interrupts, and at most 16 of its priorities. */
export const offer = (interrupts, bits) => {
  const previous = get("priority").value;
  const levels = Array.from({ length: 1 << Math.min(bits, 4) }, (_, level) => level << (8 - Math.min(bits, 4)));
  const names = levels.map((level) => `0x${level.toString(16).padStart(2, "0")}`);
  get("priority").replaceChildren(new Option("its own", ""), ...names.map((name) => new Option(name, name)));
  if (names.includes(previous)) get("priority").value = previous;
  const chosen = get("irq").value;
  get("irq").replaceChildren(...interrupts.map(([number, name]) => new Option(name, number)));
  if (interrupts.some(([number]) => String(number) === chosen)) get("irq").value = chosen;
  else if (interrupts.some(([number]) => number === 8)) get("irq").value = "8";
  get("worst").hidden = interrupts.length === 0;
};

/** Sets the default range to what the run has reached. */
export const reach = (reached) => {
  if (get("to").value === "") get("from").value = "1000";
  if (get("to").value === "" || get("to").dataset.own !== "yes") get("to").value = String(Math.min(reached, DEFAULT_CYCLES));
};

export const forget = () => {
  endSearch();
  setStatus("");
  get("to").value = "";
  delete get("to").dataset.own;
  get("curve").hidden = true;
  get("worst-found").hidden = true;
};

const show = (found, see, go) => {
  const held = found.holders.map(([what, cycles]) => `${grouped(cycles)} cycles of ${what}`).join(", ");
  const chance = found.chance === null ? "" : ` A thousand measurements at random would meet the worst one with ${percent(found.chance, 1)} probability.`;
  const missing = found.missing ? ` At ${grouped(found.missing)} moments the handler did not come in time.` : "";
  get("worst-text").replaceChildren(
    `Priority 0x${found.priority.toString(16).padStart(2, "0")}: at worst ${grouped(found.worst)} cycles, at best ${grouped(found.least)}, median ${grouped(found.median)}, over ${grouped(found.points)} moments.${missing} The worst one: ${interruptName(found.interrupt)} becomes pending in cycle `,
    link(grouped(found.point), () => see(found, found.point)),
    `${found.interrupted ? `, in ${found.interrupted}` : ""}. Until its handler begins: ${held || "nothing holds it back"}.${chance}`);
  fillTable(get("spots"), found.spots.map((spot) => [grouped(spot.cycles), link(grouped(spot.point), () => see(found, spot.point)), spot.function ?? hex(spot.address), spot.line]), [2, 3]);
  get("worst-found").hidden = false;
  get("curve").hidden = false;
  curve(get("curve"), found, go);
};

/** Connects the form. `openIn` opens the loaded image in a session, `see` runs it again with an interrupt at
 *  a cycle, and `go` shows a cycle. */
export const connect = (openIn, see, go) => {
  for (const id of ["from", "to"]) get(id).addEventListener("input", () => { get("to").dataset.own = "yes"; });
  get("worst-stop").addEventListener("click", () => { endSearch(); setStatus("Cancelled."); });
  get("worst-form").addEventListener("submit", (event) => {
    event.preventDefault();
    endSearch();
    const [from, to, interrupt] = [parseNumber(get("from").value), parseNumber(get("to").value), Number(get("irq").value)];
    const priority = get("priority").value === "" ? null : Number(get("priority").value);
    if (!(from < to)) return setStatus("Enter cycles as numbers, the first one less than the last.");
    setBusy(true);
    setStatus("Searching.");
    get("worst-progress").value = 0;
    get("worst-found").hidden = true;
    const fail = ({ text }) => { setStatus(text); endSearch(); };
    const handlers = {
      loaded: () => { search.send({ ask: "worst", interrupt, priority, from, to }); },
      searching: ({ points, of, slices }) => {
        get("worst-progress").value = points / Math.max(of, 1);
        setStatus(`${grouped(points)} of ${grouped(of)} moments.`);
        get("curve").hidden = false;
        curve(get("curve"), { slices, of: 480, from, to }, go);
      },
      found: (found) => { endSearch(); setStatus(""); show(found, see, go); },
      refused: fail,
      broken: fail,
    };
    search = new Session((event) => handlers[event.event]?.(event));
    openIn(search);
  });
};
