"use strict";
(() => {
  const get = (id) => document.getElementById(id);
  const [chip, sample, file, limit, run, stop] = ["chip", "sample", "file", "limit", "run", "stop"].map(get);
  // A function that ends by a call which is a jump: browsers that know those run faster.
  const JUMP = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 6, 1, 4, 0, 18, 0, 11];
  const asked = () => new URLSearchParams(location.hash.slice(1));
  const KEPT = 200000; // letters of the console that are shown
  let worker = null;
  let clock = 0;
  let began = 0;

  const grouped = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const time = (cycles) => {
    const seconds = cycles / clock;
    if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(2)} µs`;
    return seconds < 1 ? `${(seconds * 1e3).toFixed(3)} ms` : `${seconds.toFixed(3)} s`;
  };
  const say = (text) => { get("state").textContent = text; };
  const fetched = async (path) => {
    const answer = await fetch(path);
    if (!answer.ok) throw new Error(`${path}: the server answers ${answer.status}`);
    return answer;
  };
  const show = ({ cycles, instructions }) => {
    get("cycles").textContent = grouped(cycles);
    get("instructions").textContent = grouped(instructions);
    get("time").textContent = clock ? time(cycles) : "";
    get("speed").textContent = grouped(instructions / 1e3 / Math.max(performance.now() - began, 1));
  };
  const idle = () => {
    if (worker) worker.terminate();
    worker = null;
    run.disabled = false;
    stop.disabled = true;
  };
  const print = (text) => {
    const to = get("console");
    const follows = to.scrollTop + to.clientHeight >= to.scrollHeight - 8;
    to.textContent = (to.textContent + text).slice(-KEPT);
    if (follows) to.scrollTop = to.scrollHeight;
  };
  const events = {
    loaded: (event) => {
      clock = event.clock;
      began = performance.now();
      say(`Runs on ${event.soc}: ${event.core} at ${clock / 1e6} MHz, timing model ${event.timing_model}.`);
    },
    console: (event) => print(event.text),
    progress: show,
    ended: (event) => { show(event); say(`Ended: ${event.text}.`); idle(); },
    refused: (event) => { say(`Refused: ${event.text}.`); idle(); },
    broken: (event) => { say(`The simulator broke: ${event.text}`); idle(); },
  };
  const remember = () => {
    const part = new URLSearchParams({ chip: chip.value });
    if (sample.value && !file.files.length) part.set("image", sample.value);
    if (asked().has("calls")) part.set("calls", "");
    history.replaceState(null, "", `#${part}`);
  };
  const start = async () => {
    idle();
    for (const id of ["cycles", "instructions", "speed", "time"]) get(id).textContent = "0";
    get("console").textContent = "";
    if (!file.files.length && !sample.value) return say("Choose an image.");
    run.disabled = true;
    stop.disabled = false;
    say("Loads.");
    try {
      const image = file.files.length ? file.files[0] : await fetched(`images/${chip.value}/${sample.value}.elf`);
      const soc = await (await fetched(`socs/${chip.value}.toml`)).text();
      const jumps = WebAssembly.validate(new Uint8Array(JUMP)) && !asked().has("calls");
      const program = await (await fetched(`rtmark-${jumps ? "jumps" : "calls"}.wasm`)).arrayBuffer();
      const bytes = new Uint8Array(await image.arrayBuffer());
      const rate = Number(/^clock_hz\s*=\s*([\d_]+)/m.exec(soc)?.[1].replaceAll("_", "") || 1e8);
      worker = new Worker("worker.js");
      worker.onmessage = ({ data }) => events[data.event]?.(data);
      worker.onerror = () => events.broken({ text: "the worker could not be started" });
      worker.postMessage({ program, soc, image: bytes, cycles: rate * Number(limit.value) });
    } catch (error) {
      say(error.message);
      idle();
    }
  };
  const offers = (images) => {
    const kept = sample.value;
    sample.replaceChildren(new Option("none", ""), ...(images[chip.value] || []).map((name) => new Option(name, name)));
    sample.value = (images[chip.value] || []).includes(kept) ? kept : "";
  };
  const begin = async () => {
    const list = await (await fetched("site.json")).json();
    chip.replaceChildren(...list.socs.map((name) => new Option(name, name)));
    if (list.socs.includes(asked().get("chip"))) chip.value = asked().get("chip");
    offers(list.images);
    if ((list.images[chip.value] || []).includes(asked().get("image"))) sample.value = asked().get("image");
    chip.addEventListener("change", () => { offers(list.images); remember(); });
    sample.addEventListener("change", () => { file.value = ""; remember(); });
    file.addEventListener("change", remember);
    get("choice").addEventListener("submit", (event) => { event.preventDefault(); start(); });
    stop.addEventListener("click", () => { idle(); say("Stopped."); });
    if (sample.value) start();
  };
  begin().catch((error) => say(error.message));
})();
