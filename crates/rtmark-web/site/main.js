// The page: a choice of chip and image, a session that runs it, and the moment that is shown.
import { get, grouped, hex, parsed, time } from "./format.js";
import * as moment from "./moment.js";
import { Session, fetched, simulator } from "./session.js";
import * as survey from "./survey.js";
import * as worst from "./worst.js";

const [chip, sample, file, limit] = ["chip", "sample", "file", "limit"].map(get);
const TIME = ["first", "back", "step", "on", "moment", "cycle"];
const KEPT = 32768; // letters of the console that are shown
const asked = () => new URLSearchParams(location.hash.slice(1));
const say = (text) => { get("state").textContent = text; };

let session = null;
/** What the session has loaded: soc file, image, limit and pending interrupt, for another one. */
let loaded = null;
let clock = 0;
/** The moment that is shown. */
let now = null;
/** Whether a run to the end is under way, since when, and from how many instructions. */
let run = null;
let surveyed = 0;

const most = () => Math.round((loaded?.rate ?? 1e8) * Number(limit.value));
const figures = ({ cycles, instructions }) => {
  get("cycles").textContent = grouped(cycles);
  get("instructions").textContent = grouped(instructions);
  get("clock").textContent = clock ? time(cycles, clock) : "";
  if (document.activeElement !== get("cycle")) get("cycle").value = grouped(cycles);
};
const enable = (is) => {
  for (const id of TIME) get(id).disabled = !is;
};

let remembering = 0;
/** Puts chip, image and moment into the address, at most a few times a second. */
const remember = () => {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    const part = new URLSearchParams({ chip: chip.value });
    if (sample.value && !file.files.length) part.set("image", sample.value);
    if (part.has("image") && now) part.set("cycle", now.cycles);
    if (part.has("image") && loaded?.pend) part.set("pend", [loaded.pend.interrupt, loaded.pend.priority, loaded.pend.at]);
    if (asked().has("calls")) part.set("calls", "");
    history.replaceState(null, "", `#${part}`);
  }, 200);
};

const stopped = () => {
  run = null;
  get("stop").disabled = true;
  get("speed").textContent = get("speed").textContent || "–";
};
const go = (cycle) => {
  if (!session) return;
  stopped();
  session.go(Math.max(0, cycle));
};
const look = (address) => session?.ask({ ask: "look", address: address >>> 0, bytes: 256 });
const on = () => {
  if (!session) return;
  run = { began: performance.now(), instructions: now?.instructions ?? 0 };
  get("stop").disabled = false;
  say("Runs.");
  session.go(Number.MAX_SAFE_INTEGER);
};

const slide = ({ cycles, reached }) => {
  const slider = get("moment");
  slider.max = String(Math.max(reached, 1));
  slider.value = String(cycles);
  slider.setAttribute("aria-valuetext", `cycle ${grouped(cycles)} of ${grouped(reached)}`);
};
const print = (text) => {
  const to = get("console");
  to.textContent = (to.textContent + text).slice(-KEPT);
  to.scrollTop = to.scrollHeight;
};

/** What becomes of the events of the session that is shown. */
const events = (begun) => ({
  loaded: (event) => {
    clock = event.clock;
    get("memories").replaceChildren(new Option("go to memory", ""), ...event.memories.map(([name, base]) => new Option(`${name} at ${hex(base)}`, base)));
    get("about").textContent = `${event.soc}: ${event.core} at ${clock / 1e6} MHz, timing model ${event.timing_model}${event.lines ? "" : ", an image without debug information"}.`;
    worst.offer(event.interrupts, event.priority_bits);
  },
  console: ({ text }) => print(text),
  progress: (event) => {
    figures(event);
    slide(event);
    if (run) get("speed").textContent = ((event.instructions - run.instructions) / 1e3 / Math.max(performance.now() - run.began, 1)).toFixed(0);
  },
  ended: ({ text }) => { now = { ended: text }; },
  moment: (event) => {
    const ended = now?.ended;
    now = event;
    figures(event);
    slide(event);
    moment.show(event, look);
    worst.reach(event.reached);
    enable(true);
    get("survey").hidden = event.reached === 0;
    if (ended) say(`Ended: ${ended}.`);
    else if (run) say("Stopped.");
    else say("");
    stopped();
    remember();
    begun?.();
    begun = null;
  },
  surveying: (event) => survey.progress(event, surveyed),
  surveyed: (event) => survey.show(event, go),
  refused: ({ text }) => {
    survey.busy(false);
    say(`Refused: ${text}.`);
    stopped();
  },
  broken: ({ text }) => {
    close();
    say(`The simulator failed: ${text}`);
  },
});

const close = () => {
  session?.end();
  session = null;
  now = null;
  stopped();
  enable(false);
};

/** Opens what is loaded in a session of its own. */
const opened = async (made, pend) => {
  const program = await simulator(asked().has("calls") ? "calls" : "");
  made.open(program, loaded.soc, loaded.image, most(), pend);
};

/** Begins anew with what is loaded, and goes to a cycle, or on to the end. */
const begin = async (cycle) => {
  close();
  moment.forget();
  survey.forget();
  get("pended").hidden = !loaded.pend;
  if (loaded.pend) get("pended-text").textContent = `Interrupt ${loaded.pend.interrupt} becomes pending in cycle ${grouped(loaded.pend.at)}.`;
  say("Loads.");
  const tell = events(() => (cycle === undefined ? on() : session.go(cycle)));
  const mine = new Session((event) => tell[event.event]?.(event));
  session = mine;
  await opened(mine, loaded.pend);
};

/** Loads what is chosen. */
const load = async (pend, cycle) => {
  if (!file.files.length && !sample.value) return say("Choose an image, or drop a file here.");
  close();
  worst.forget();
  say("Loads.");
  try {
    const image = file.files.length ? file.files[0] : await fetched(`images/${chip.value}/${sample.value}.elf`);
    const soc = await (await fetched(`socs/${chip.value}.toml`)).text();
    const rate = Number(/^clock_hz\s*=\s*([\d_]+)/m.exec(soc)?.[1].replaceAll("_", "") || 1e8);
    loaded = { soc, image: new Uint8Array(await image.arrayBuffer()), rate, pend };
    await begin(cycle);
  } catch (error) {
    close();
    say(error.message);
  }
};

/** Runs again with an interrupt at a moment, and shows that. */
const see = ({ interrupt, priority }, at) => {
  loaded.pend = { interrupt, priority, at };
  begin(at).catch((error) => say(error.message));
  get("time").scrollIntoView({ block: "nearest" });
};

const offers = (images) => {
  const kept = sample.value;
  const names = images[chip.value] || [];
  sample.replaceChildren(new Option("none", ""), ...names.map((name) => new Option(name, name)));
  sample.value = names.includes(kept) ? kept : "";
};

const drop = () => {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    if (!event.dataTransfer.files.length) return;
    file.files = event.dataTransfer.files;
    sample.value = "";
    load();
  });
};

const controls = () => {
  get("choice").addEventListener("submit", (event) => { event.preventDefault(); load(); });
  get("first").addEventListener("click", () => go(0));
  get("back").addEventListener("click", () => { stopped(); session.ask({ ask: "step", by: -1 }); });
  get("step").addEventListener("click", () => { stopped(); session.ask({ ask: "step", by: 1 }); });
  get("on").addEventListener("click", on);
  get("stop").addEventListener("click", () => session?.ask({ ask: "look" }));
  get("unpend").addEventListener("click", () => {
    const { at } = loaded.pend;
    delete loaded.pend;
    begin(at).catch((error) => say(error.message));
  });
  get("moment").addEventListener("input", () => go(Number(get("moment").value)));
  get("moment").addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    stopped();
    session.ask({ ask: "step", by });
  });
  get("cycle").addEventListener("change", () => {
    const cycle = parsed(get("cycle").value);
    if (Number.isNaN(cycle)) return say("Enter a cycle as a number.");
    go(cycle);
  });
  get("cycle").addEventListener("keydown", (event) => { if (event.key === "Enter") get("cycle").blur(); });
  get("memory-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = get("address").value.trim();
    if (text === "") return session?.ask({ ask: "look" });
    const address = parsed(text);
    if (!(address < 2 ** 32)) return say("Enter an address such as 0x20000000.");
    look(address);
  });
  get("memories").addEventListener("change", () => {
    if (get("memories").value === "") return;
    get("address").value = hex(Number(get("memories").value));
    look(Number(get("memories").value));
  });
  get("survey-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!now) return;
    const length = Number(get("stretch").value);
    const to = Math.max(now.cycles, 1);
    surveyed = Math.max(0, to - length);
    survey.busy(true);
    get("survey-state").textContent = "Profiling.";
    session.survey(surveyed, to);
  });
  get("survey-stop").addEventListener("click", () => {
    survey.busy(false);
    get("survey-state").textContent = "Cancelled.";
    session?.ask({ ask: "look" });
  });
};

const start = async () => {
  const list = await (await fetched("site.json")).json();
  for (const id of ["results", "book"]) get(`to-${id}`).hidden = !list[id];
  get("nav").hidden = !list.results && !list.book;
  chip.replaceChildren(...list.socs.map((name) => new Option(name, name)));
  const link = asked();
  if (list.socs.includes(link.get("chip"))) chip.value = link.get("chip");
  offers(list.images);
  if ((list.images[chip.value] || []).includes(link.get("image"))) sample.value = link.get("image");
  chip.addEventListener("change", () => { offers(list.images); remember(); });
  sample.addEventListener("change", () => { file.value = ""; remember(); });
  file.addEventListener("change", () => { sample.value = ""; remember(); });
  controls();
  drop();
  worst.begin(opened, see, go);
  if (!sample.value) return;
  const pend = (link.get("pend") ?? "").split(",").map(parsed);
  const [interrupt, priority, at] = pend;
  const wanted = pend.length === 3 && !pend.some(Number.isNaN) ? { interrupt, priority, at } : undefined;
  const cycle = parsed(link.get("cycle") ?? "");
  await load(wanted, Number.isNaN(cycle) ? undefined : cycle);
};
start().catch((error) => say(error.message));
