// The page: the choice of chip and image, the session that runs it, and the moment on display.
import { get, formatClock, formatTime, grouped, hex, interruptName, parseNumber } from "./format.js";
import * as moment from "./moment.js";
import { Session, fetchOk, loadSimulator } from "./session.js";
import * as survey from "./survey.js";
import * as worst from "./worst.js";

const [chip, sample, file, limit] = ["chip", "sample", "file", "limit"].map(get);
const TIME = ["first", "back", "step", "on", "moment", "cycle"];
const CONSOLE_LIMIT = 32768; // characters of console output shown
const linkParameters = () => new URLSearchParams(location.hash.slice(1));
const setStatus = (text) => { get("state").textContent = text; };

let session = null;
/** The soc file, image and pending interrupt of the session, to restart it. */
let loaded = null;
/** The moment on display. */
let now = null;
/** When and at how many instructions the current run to the end began; null if none is running. */
let run = null;
let surveyed = 0;
/** Whether the run is profiled when it has ended. */
let profileAtEnd = false;
/** The number of loads begun: an older one gives way to a newer one. */
let loads = 0;

const showFigures = ({ cycles, instructions, nanoseconds, clock }) => {
  get("cycles").textContent = grouped(cycles);
  get("instructions").textContent = grouped(instructions);
  get("chip-time").textContent = formatTime(nanoseconds);
  get("clock").textContent = formatClock(clock);
  if (document.activeElement !== get("cycle")) get("cycle").value = grouped(cycles);
};
/** Shows the speed of a run that is long enough to tell. */
const showSpeed = ({ instructions }) => {
  const executed = instructions - (run?.instructions ?? instructions);
  if (executed > 1e6) get("speed").textContent = (executed / 1e3 / Math.max(performance.now() - run.began, 1)).toFixed(0);
};
const enableControls = (enabled) => {
  for (const id of TIME) get(id).disabled = !enabled;
};

let remembering = 0;
/** Stores chip, image and moment in the page’s address, at most a few times a second. */
const remember = () => {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    const part = new URLSearchParams({ chip: chip.value });
    if (sample.value && !file.files.length) part.set("image", sample.value);
    if (part.has("image") && now) part.set("cycle", now.cycles);
    if (part.has("image") && loaded?.pend) part.set("pend", [loaded.pend.interrupt, loaded.pend.priority, loaded.pend.at]);
    if (linkParameters().has("calls")) part.set("calls", "");
    history.replaceState(null, "", `#${part}`);
  }, 200);
};

const endRun = () => {
  run = null;
  get("stop").disabled = true;
};
const go = (cycle) => {
  if (!session) return;
  endRun();
  session.go(Math.max(0, cycle));
};
const look = (address) => session?.send({ ask: "look", address: address >>> 0, bytes: 256 });
const continueRun = () => {
  if (!session) return;
  run = { began: performance.now(), instructions: now?.instructions ?? 0 };
  get("stop").disabled = false;
  setStatus("Running.");
  session.go(Number.MAX_SAFE_INTEGER);
};

const moveSlider = ({ cycles, reached }) => {
  const slider = get("moment");
  slider.max = String(Math.max(reached, 1));
  slider.value = String(cycles);
  slider.setAttribute("aria-valuetext", `cycle ${grouped(cycles)} of ${grouped(reached)}`);
};
const appendConsole = (text) => {
  const to = get("console");
  to.textContent = (to.textContent + text).slice(-CONSOLE_LIMIT);
  to.scrollTop = to.scrollHeight;
};

/** Returns the handlers of the session’s events; `afterLoad` runs after the first moment. */
const handlers = (afterLoad) => ({
  loaded: (event) => {
    get("memories").replaceChildren(new Option("go to memory", ""), ...event.memories.map(([name, base]) => new Option(`${name} at ${hex(base)}`, base)));
    get("about").textContent = `${event.soc}: ${event.core}, timing model ${event.timing_model}${event.lines ? "" : ", an image without debug information"}.`;
    worst.offer(event.interrupts, event.priority_bits);
  },
  console: ({ text }) => appendConsole(text),
  progress: (event) => {
    showFigures(event);
    moveSlider(event);
    showSpeed(event);
  },
  ended: ({ text }) => { now = { ended: text }; },
  moment: (event) => {
    const ended = now?.ended;
    now = event;
    showFigures(event);
    get("clock-notes").textContent = event.clock_notes.map((note) => `${note[0].toUpperCase()}${note.slice(1)}.`).join(" ");
    showSpeed(event);
    moveSlider(event);
    moment.show(event, look);
    worst.reach(event.reached);
    enableControls(true);
    get("survey").hidden = event.reached === 0;
    if (ended) {
      setStatus(`Ended: ${ended}.`);
      if (profileAtEnd) get("survey-form").requestSubmit();
      profileAtEnd = false;
    } else if (run) setStatus("Stopped.");
    else setStatus("");
    endRun();
    remember();
    afterLoad?.();
    afterLoad = null;
  },
  surveying: (event) => survey.progress(event, surveyed),
  surveyed: (event) => survey.show(event, go),
  refused: ({ text }) => {
    survey.setBusy(false);
    setStatus(`Refused: ${text}.`);
    endRun();
  },
  broken: ({ text }) => {
    close();
    setStatus(`The simulator failed: ${text}`);
  },
});

const close = () => {
  session?.end();
  session = null;
  now = null;
  endRun();
  enableControls(false);
};

/** Opens the loaded image in a session. */
const openIn = async (target, pend) => {
  const program = await loadSimulator(linkParameters().has("calls") ? "calls" : "");
  target.open(program, loaded.soc, loaded.image, Number(limit.value), pend);
};

/** Restarts the loaded image in a new session, and runs it to a cycle, or to its end. */
const restart = async (cycle) => {
  close();
  moment.forget();
  survey.forget();
  get("pended").hidden = !loaded.pend;
  if (loaded.pend) get("pended-text").textContent = `In cycle ${grouped(loaded.pend.at)}, ${interruptName(loaded.pend.interrupt)} becomes pending.`;
  setStatus("Loading.");
  const handle = handlers(() => (cycle === undefined ? continueRun() : session.go(cycle)));
  const created = new Session((event) => handle[event.event]?.(event));
  session = created;
  await openIn(created, loaded.pend);
};

/** Loads the chosen chip and image, and runs them to a cycle, or to their end. */
const load = async ({ pend, cycle, profile = false } = {}) => {
  if (!file.files.length && !sample.value) return setStatus("Choose an image, or drop a file here.");
  loads += 1;
  const number = loads;
  profileAtEnd = profile;
  close();
  worst.forget();
  get("speed").textContent = "–";
  setStatus("Loading.");
  try {
    const image = file.files.length ? file.files[0] : await fetchOk(`images/${chip.value}/${sample.value}.elf`);
    const soc = await (await fetchOk(`socs/${chip.value}.toml`)).text();
    const bytes = new Uint8Array(await image.arrayBuffer());
    if (number !== loads) return;
    loaded = { soc, image: bytes, pend };
    await restart(cycle);
  } catch (error) {
    if (number !== loads) return;
    close();
    setStatus(error.message);
  }
};

/** Runs again with an interrupt that becomes pending at a cycle, and shows that moment. */
const showWithInterrupt = ({ interrupt, priority }, at) => {
  loaded.pend = { interrupt, priority, at };
  restart(at).catch((error) => setStatus(error.message));
  get("time").scrollIntoView({ block: "nearest" });
};

const offerImages = (images) => {
  const previous = sample.value;
  const names = images[chip.value] || [];
  sample.replaceChildren(new Option("none", ""), ...names.map((name) => new Option(name.replace("/", ": "), name)));
  sample.value = names.includes(previous) ? previous : "";
};

const acceptDrops = () => {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    if (!event.dataTransfer.files.length) return;
    file.files = event.dataTransfer.files;
    sample.value = "";
    load();
  });
};

const connectControls = () => {
  get("choice").addEventListener("submit", (event) => { event.preventDefault(); load(); });
  get("first").addEventListener("click", () => go(0));
  get("back").addEventListener("click", () => { endRun(); session.send({ ask: "step", by: -1 }); });
  get("step").addEventListener("click", () => { endRun(); session.send({ ask: "step", by: 1 }); });
  get("on").addEventListener("click", continueRun);
  get("stop").addEventListener("click", () => session?.send({ ask: "look" }));
  get("unpend").addEventListener("click", () => {
    const { at } = loaded.pend;
    delete loaded.pend;
    restart(at).catch((error) => setStatus(error.message));
  });
  get("moment").addEventListener("input", () => go(Number(get("moment").value)));
  get("moment").addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    endRun();
    session.send({ ask: "step", by });
  });
  get("cycle").addEventListener("change", () => {
    const cycle = parseNumber(get("cycle").value);
    if (Number.isNaN(cycle)) return setStatus("Enter a cycle as a number.");
    go(cycle);
  });
  get("cycle").addEventListener("keydown", (event) => { if (event.key === "Enter") get("cycle").blur(); });
  get("memory-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = get("address").value.trim();
    if (text === "") return session?.send({ ask: "look" });
    const address = parseNumber(text);
    if (!(address < 2 ** 32)) return setStatus("Enter an address such as 0x20000000.");
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
    survey.setBusy(true);
    get("survey-state").textContent = "Profiling.";
    session.survey(surveyed, to);
  });
  get("survey-stop").addEventListener("click", () => {
    survey.setBusy(false);
    get("survey-state").textContent = "Cancelled.";
    session?.send({ ask: "look" });
  });
};

const start = async () => {
  const list = await (await fetchOk("site.json")).json();
  for (const id of ["results", "book"]) get(`to-${id}`).hidden = !list[id];
  get("nav").hidden = !list.results && !list.book;
  chip.replaceChildren(...list.socs.map((name) => new Option(name, name)));
  const unlinked = location.hash === "";
  const link = unlinked ? new URLSearchParams(list.first) : linkParameters();
  if (list.socs.includes(link.get("chip"))) chip.value = link.get("chip");
  offerImages(list.images);
  if ((list.images[chip.value] || []).includes(link.get("image"))) sample.value = link.get("image");
  chip.addEventListener("change", () => { offerImages(list.images); remember(); });
  sample.addEventListener("change", () => { file.value = ""; remember(); });
  file.addEventListener("change", () => { sample.value = ""; remember(); });
  connectControls();
  acceptDrops();
  worst.connect(openIn, showWithInterrupt, go);
  if (!sample.value) return;
  const parse = (text, index) => (index === 0 && /^-[12]$/.test(text) ? Number(text) : parseNumber(text));
  const pend = (link.get("pend") ?? "").split(",").map(parse);
  const [interrupt, priority, at] = pend;
  const cycle = parseNumber(link.get("cycle") ?? "");
  await load({
    pend: pend.length === 3 && !pend.some(Number.isNaN) ? { interrupt, priority, at } : undefined,
    cycle: Number.isNaN(cycle) ? undefined : cycle,
    profile: unlinked,
  });
};
start().catch((error) => setStatus(error.message));
