// The worst moment for an interrupt, searched in a worker of its own.
import { fill, get, grouped, hex, link, parsed, percent } from "./format.js";
import { curve } from "./pictures.js";
import { Session } from "./session.js";

/** Cycles that are searched where nobody says how many. */
const USUAL = 1_000_000;
let search = null;

const say = (text) => { get("worst-state").textContent = text; };
const busy = (is) => {
  get("worst-run").disabled = is;
  get("worst-stop").hidden = !is;
  get("worst-progress").hidden = !is;
};
const ended = () => {
  search?.end();
  search = null;
  busy(false);
};

/** Offers the interrupts of a chip that has been loaded, and priorities of so many bits, 16 at most. */
export const offer = (interrupts, bits) => {
  const kept = get("priority").value;
  const levels = Array.from({ length: 1 << Math.min(bits, 4) }, (_, level) => level << (8 - Math.min(bits, 4)));
  const names = levels.map((level) => `0x${level.toString(16).padStart(2, "0")}`);
  get("priority").replaceChildren(new Option("its own", ""), ...names.map((name) => new Option(name, name)));
  if (names.includes(kept)) get("priority").value = kept;
  const chosen = get("irq").value;
  get("irq").replaceChildren(...interrupts.map(([number, name]) => new Option(name, number)));
  if (interrupts.some(([number]) => String(number) === chosen)) get("irq").value = chosen;
  else if (interrupts.some(([number]) => number === 8)) get("irq").value = "8";
  get("worst").hidden = interrupts.length === 0;
};

/** The run has come so far: what could be searched. */
export const reach = (reached) => {
  if (get("to").value === "") get("from").value = "1000";
  if (get("to").value === "" || get("to").dataset.own !== "yes") get("to").value = String(Math.min(reached, USUAL));
};

export const forget = () => {
  ended();
  say("");
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
    `Priority 0x${found.priority.toString(16).padStart(2, "0")}: at worst ${grouped(found.worst)} cycles, at best ${grouped(found.least)}, median ${grouped(found.median)}, over ${grouped(found.points)} moments.${missing} The worst one: interrupt ${found.interrupt} becomes pending in cycle `,
    link(grouped(found.point), () => see(found, found.point)),
    `${found.interrupted ? `, in ${found.interrupted}` : ""}. Until its handler begins: ${held || "nothing holds it back"}.${chance}`);
  fill(get("spots"), found.spots.map((spot) => [grouped(spot.cycles), link(grouped(spot.point), () => see(found, spot.point)), spot.function ?? hex(spot.address), spot.line]), [2, 3]);
  get("worst-found").hidden = false;
  get("curve").hidden = false;
  curve(get("curve"), found, go);
};

/** Makes the form work. `opened` opens the chip that is tried in a session; `see` runs it again with
 *  the interrupt at a moment; `go` leads to a cycle. */
export const begin = (opened, see, go) => {
  for (const id of ["from", "to"]) get(id).addEventListener("input", () => { get("to").dataset.own = "yes"; });
  get("worst-stop").addEventListener("click", () => { ended(); say("Cancelled."); });
  get("worst-form").addEventListener("submit", (event) => {
    event.preventDefault();
    ended();
    const [from, to, interrupt] = [parsed(get("from").value), parsed(get("to").value), Number(get("irq").value)];
    const priority = get("priority").value === "" ? null : Number(get("priority").value);
    if (!(from < to)) return say("Enter cycles as numbers, the first one less than the last.");
    busy(true);
    say("Searches.");
    get("worst-progress").value = 0;
    get("worst-found").hidden = true;
    const fail = ({ text }) => { say(text); ended(); };
    const tells = {
      loaded: () => { search.ask({ ask: "worst", interrupt, priority, from, to }); },
      searching: ({ points, of, slices }) => {
        get("worst-progress").value = points / Math.max(of, 1);
        say(`${grouped(points)} of ${grouped(of)} moments.`);
        get("curve").hidden = false;
        curve(get("curve"), { slices, of: 480, from, to }, go);
      },
      found: (found) => { ended(); say(""); show(found, see, go); },
      refused: fail,
      broken: fail,
    };
    search = new Session((event) => tells[event.event]?.(event));
    opened(search);
  });
};
