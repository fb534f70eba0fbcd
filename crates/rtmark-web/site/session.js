// A chip in a worker: one thing is asked at a time, and what is asked meanwhile waits; of several
// wishes the last one counts.

/** Milliseconds after which a run lets other wishes in. */
const PACE = 80;
// A function that ends by a call which is a jump: browsers that know those run faster.
const JUMP = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 6, 1, 4, 0, 18, 0, 11];

export const fetched = async (path) => {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: the server answers ${answer.status}`);
  return answer;
};

let compiled = null;
/** The simulator, compiled once. */
export const simulator = (name) => {
  const jumps = WebAssembly.validate(new Uint8Array(JUMP)) && name !== "calls";
  compiled ??= fetched(`rtmark-${jumps ? "jumps" : "calls"}.wasm`)
    .then((answer) => answer.arrayBuffer())
    .then((bytes) => WebAssembly.compile(bytes));
  return compiled;
};

export class Session {
  /** `tell` is told of events by their names. */
  constructor(tell) {
    this.tell = tell;
    this.busy = true;
    this.asked = null;
    this.wish = null;
    this.worker = new Worker("worker.js");
    this.worker.onmessage = ({ data }) => this.#came(data);
    this.worker.onerror = () => this.#came({ event: "broken", text: "the worker could not be started" });
  }

  open(program, soc, image, most, pend) {
    this.worker.postMessage({ program, soc, image, most, pend });
  }

  /** Asks for something, at once or when what is under way lets it. */
  ask(wish) {
    if (this.busy) this.wish = wish;
    else this.#send(wish);
  }

  go(cycle) {
    this.ask({ ask: "go", cycle, pace: PACE });
  }

  survey(from, to) {
    this.ask({ ask: "survey", from, to, pace: PACE });
  }

  end() {
    this.worker.terminate();
    this.worker.onmessage = null;
  }

  #send(wish) {
    [this.busy, this.asked, this.wish] = [true, wish, null];
    this.worker.postMessage(wish);
  }

  #came(event) {
    const halfWay = event.event === "progress" || event.event === "surveying";
    if (["moment", "surveyed", "found", "refused"].includes(event.event)) this.busy = false;
    this.tell(event);
    if (halfWay) this.#send(this.wish ?? this.asked);
    else if (!this.busy && this.wish) this.#send(this.wish);
  }
}
