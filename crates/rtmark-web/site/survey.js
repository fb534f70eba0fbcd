// A stretch of the run: its flame graph, its timeline, the peripherals that it used.
import { fill, get, grouped, hex, link, percent } from "./format.js";
import { flame, lanes } from "./pictures.js";

/** Progress and buttons while a survey is under way, or not. */
export const busy = (is) => {
  get("survey-run").disabled = is;
  get("survey-stop").hidden = !is;
  get("survey-progress").hidden = !is;
};

export const progress = ({ cycles, to }, from) => {
  get("survey-progress").value = (cycles - from) / Math.max(to - from, 1);
};

/** Shows what was found; `go` leads to a cycle. */
export const show = (found, go) => {
  busy(false);
  get("survey-found").hidden = false;
  get("survey-state").textContent = `Cycles ${grouped(found.from)} to ${grouped(found.to)}.`;
  flame(get("flame"), found.folded);
  if (found.lanes.length) lanes(get("lanes"), found, go);
  else get("lanes").textContent = "Only one task ran, without interrupts.";
  fill(get("functions"), found.functions.slice(0, 20).map((each) => [each.name, grouped(each.exclusive_cycles), percent(each.exclusive_cycles, found.cycles), grouped(each.calls)]));
  fill(get("lines"), found.lines.slice(0, 20).map(([line, cycles]) => [line, grouped(cycles), percent(cycles, found.cycles)]));
  fill(get("used"), found.used.map((each) => [each.name, hex(each.address), grouped(each.reads), grouped(each.writes), link(grouped(each.first), () => go(each.first))]));
  get("used-head").hidden = found.used.length === 0;
};

export const forget = () => {
  busy(false);
  get("survey-found").hidden = true;
  get("survey-state").textContent = "";
};
