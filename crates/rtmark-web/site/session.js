// A chip in a worker. The worker serves one request at a time; of the requests made meanwhile, only the
// last one is kept.

/** Milliseconds after which a long request pauses, so that another can replace it. */
const SLICE_MS = 80;
// A module with a tail call: browsers that accept it run the faster of the two programs.
const TAIL_CALL = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 6, 1, 4, 0, 18, 0, 11];

export const fetchOk = async (path) => {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: the server answers ${response.status}`);
  return response;
};

let compiled = null;
/** Returns the simulator’s module, compiled once. */
export const loadSimulator = (name) => {
  const tailCalls = WebAssembly.validate(new Uint8Array(TAIL_CALL)) && name !== "calls";
  compiled ??= fetchOk(`rtmark-${tailCalls ? "jumps" : "calls"}.wasm`)
    .then((response) => response.arrayBuffer())
    .then((bytes) => WebAssembly.compile(bytes))
    .catch((error) => {
      // The next one asks the server again.
      compiled = null;
      throw error;
    });
  return compiled;
};

export class Session {
  /** Calls `onEvent` with each event of the worker. */
  constructor(onEvent) {
    this.onEvent = onEvent;
    this.busy = true;
    this.current = null;
    this.pending = null;
    this.worker = new Worker("worker.js");
    this.worker.onmessage = ({ data }) => this.#receive(data);
    this.worker.onerror = () => this.#receive({ event: "broken", text: "the worker could not be started" });
  }

  /** Loads a soc file and an image, to run for at most as many seconds of the chip’s clock. */
  open(program, soc, image, seconds, pend) {
    this.worker.postMessage({ program, soc, image, seconds, pend });
  }

  /** Sends a request, now or when the current one pauses or ends. */
  send(request) {
    if (this.busy) this.pending = request;
    else this.#post(request);
  }

  go(cycle) {
    this.send({ ask: "go", cycle, pace: SLICE_MS });
  }

  survey(from, to) {
    this.send({ ask: "survey", from, to, pace: SLICE_MS });
  }

  end() {
    this.worker.terminate();
    this.worker.onmessage = null;
  }

  #post(request) {
    [this.busy, this.current, this.pending] = [true, request, null];
    this.worker.postMessage(request);
  }

  #receive(event) {
    const paused = event.event === "progress" || event.event === "surveying";
    if (["moment", "surveyed", "found", "refused"].includes(event.event)) this.busy = false;
    this.onEvent(event);
    if (paused) this.#post(this.pending ?? this.current);
    else if (!this.busy && this.pending) this.#post(this.pending);
  }
}
