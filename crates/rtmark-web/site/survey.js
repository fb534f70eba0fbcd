// Profiles a stretch of the run: flame graph, timeline, and peripherals used.
import { fillTable, get, grouped, hex, link, percent } from "./format.js";
import { flame, lanes } from "./pictures.js";

/** Switches the form between idle and running. */
export const setBusy = (running) => {
  get("survey-run").disabled = running;
  get("survey-stop").hidden = !running;
  get("survey-progress").hidden = !running;
};

export const progress = ({ cycles, to }, from) => {
  get("survey-progress").value = (cycles - from) / Math.max(to - from, 1);
};

/** A function's name, with how many functions have it if there are several. */
const shared = ({ name, namesakes }) => (namesakes ? `${name} (${namesakes.length} functions)` : name);

/** Shows a profile. `go` is called with the selected cycle. */
export const show = (found, go) => {
  setBusy(false);
  get("survey-found").hidden = false;
  get("survey-state").textContent = `Cycles ${grouped(found.from)} to ${grouped(found.to)}.`;
  flame(get("flame"), found.folded);
  if (found.lanes.length) lanes(get("lanes"), found, go);
  else get("lanes").textContent = "Only one task ran, without interrupts.";
  fillTable(get("functions"), found.functions.slice(0, 20).map((each) => [shared(each), grouped(each.exclusive_cycles), percent(each.exclusive_cycles, found.cycles), grouped(each.calls)]));
  fillTable(get("lines"), found.lines.slice(0, 20).map(([line, cycles]) => [line, grouped(cycles), percent(cycles, found.cycles)]));
  fillTable(get("used"), found.used.map((each) => [each.name, hex(each.address), grouped(each.reads), grouped(each.writes), link(grouped(each.first), () => go(each.first))]));
  get("used-head").hidden = found.used.length === 0;
};

export const forget = () => {
  setBusy(false);
  get("survey-found").hidden = true;
  get("survey-state").textContent = "";
};
