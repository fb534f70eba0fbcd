"use strict";
// Runs the simulator, a WASI program, and implements the system calls that it needs. The program reads
// requests from its input and writes events, one per line; it has no files and no network. It returns when
// its input is empty. Its session stays in memory, and each request calls its main function again.
const DONE = 0, BAD_FILE = 8, NO_SUCH_CALL = 52;

class Ended extends Error {}

/** Implements the system calls. */
const system = (output) => {
  let memory = null;
  let input = new Uint8Array();
  const view = () => new DataView(memory.buffer);
  const buffers = (list, count) => {
    const found = [];
    for (let index = 0; index < count; index += 1) {
      const begin = view().getUint32(list + index * 8, true);
      found.push(new Uint8Array(memory.buffer, begin, view().getUint32(list + index * 8 + 4, true)));
    }
    return found;
  };
  const none = (count, size) => {
    view().setUint32(count, 0, true);
    view().setUint32(size, 0, true);
    return DONE;
  };
  const calls = {
    args_sizes_get: none,
    args_get: () => DONE,
    environ_sizes_get: none,
    environ_get: () => DONE,
    clock_time_get: (_clock, _precision, to) => {
      view().setBigUint64(to, BigInt(Math.round(performance.now() * 1e6)), true);
      return DONE;
    },
    random_get: (to, length) => {
      // Only hash tables ask for random bytes; results do not depend on them.
      new Uint8Array(memory.buffer, to, length).fill(7);
      return DONE;
    },
    sched_yield: () => DONE,
    fd_read: (file, list, count, written) => {
      if (file !== 0) return BAD_FILE;
      let length = 0;
      for (const buffer of buffers(list, count)) {
        const part = input.subarray(0, buffer.length);
        buffer.set(part);
        input = input.subarray(part.length);
        length += part.length;
      }
      view().setUint32(written, length, true);
      return DONE;
    },
    fd_write: (file, list, count, written) => {
      if (file !== 1 && file !== 2) return BAD_FILE;
      let length = 0;
      for (const buffer of buffers(list, count)) {
        output(file, buffer.slice());
        length += buffer.length;
      }
      view().setUint32(written, length, true);
      return DONE;
    },
    fd_fdstat_get: (file, to) => {
      if (file > 2) return BAD_FILE;
      new Uint8Array(memory.buffer, to, 24).fill(0);
      view().setUint8(to, 2);
      return DONE;
    },
    fd_prestat_get: () => BAD_FILE,
    proc_exit: () => { throw new Ended(); },
  };
  return { calls, attach: (exported) => { memory = exported; }, feed: (bytes) => { input = bytes; } };
};

/** Returns a function that takes chunks of output and calls `onEvent` for each complete line. */
const splitLines = (onEvent) => {
  const decoder = new TextDecoder();
  let rest = "";
  return (bytes) => {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part) onEvent(JSON.parse(part));
  };
};

const encodeRequest = (request) => new TextEncoder().encode(`${JSON.stringify(request)}\n`);

/** Encodes the first request, followed by its two files. */
const encodeOpen = ({ soc, image, seconds, pend }) => {
  const text = new TextEncoder().encode(soc);
  const head = encodeRequest({ ask: "open", soc: text.length, image: image.length, most: Number.MAX_SAFE_INTEGER, lasts: Math.round(seconds * 1e9), pend });
  const whole = new Uint8Array(head.length + text.length + image.length);
  whole.set(head);
  whole.set(text, head.length);
  whole.set(image, head.length + text.length);
  return whole;
};

let machine = null;
let errors = "";

const start = async (program) => {
  const receive = splitLines((event) => postMessage(event));
  const { calls, attach, feed } = system((file, bytes) => {
    if (file === 1) receive(bytes);
    else errors += new TextDecoder().decode(bytes);
  });
  const imports = {};
  for (const { name } of WebAssembly.Module.imports(program)) imports[name] = calls[name] || (() => NO_SUCH_CALL);
  const { exports } = await WebAssembly.instantiate(program, { wasi_snapshot_preview1: imports });
  attach(exports.memory);
  return { exports, feed };
};

onmessage = async ({ data }) => {
  try {
    if (data.program) {
      machine = await start(data.program);
      machine.feed(encodeOpen(data));
      machine.exports._start();
    } else {
      machine.feed(encodeRequest(data));
      machine.exports.__main_void();
    }
  } catch (error) {
    if (!(error instanceof Ended)) postMessage({ event: "broken", text: `${error.message}. ${errors}` });
  }
};
