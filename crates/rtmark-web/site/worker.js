"use strict";
// Runs the program, whose system is this file: its input is requests, its output lines of events.
// It has no files, no network and no other way out. The program serves what is in its input and comes
// back; its session stays, and its main function is called again for each request.
const DONE = 0, BAD_FILE = 8, NO_SUCH_CALL = 52;

class Ended extends Error {}

/** The calls that the program may make of its system. */
const system = (output) => {
  let memory = null;
  let input = new Uint8Array();
  const view = () => new DataView(memory.buffer);
  const pieces = (list, count) => {
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
      // The simulator knows no chance; what asks is a table of hashes.
      new Uint8Array(memory.buffer, to, length).fill(7);
      return DONE;
    },
    sched_yield: () => DONE,
    fd_read: (file, list, count, told) => {
      if (file !== 0) return BAD_FILE;
      let length = 0;
      for (const piece of pieces(list, count)) {
        const part = input.subarray(0, piece.length);
        piece.set(part);
        input = input.subarray(part.length);
        length += part.length;
      }
      view().setUint32(told, length, true);
      return DONE;
    },
    fd_write: (file, list, count, told) => {
      if (file !== 1 && file !== 2) return BAD_FILE;
      let length = 0;
      for (const piece of pieces(list, count)) {
        output(file, piece.slice());
        length += piece.length;
      }
      view().setUint32(told, length, true);
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
  return { calls, begin: (made) => { memory = made; }, give: (bytes) => { input = bytes; } };
};

/** Events from the pieces of output in which they come. */
const lines = (tell) => {
  const decoder = new TextDecoder();
  let rest = "";
  return (bytes) => {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part) tell(JSON.parse(part));
  };
};

const line = (request) => new TextEncoder().encode(`${JSON.stringify(request)}\n`);

/** The first request, with the files that follow it. */
const opening = ({ soc, image, most, pend }) => {
  const text = new TextEncoder().encode(soc);
  const head = line({ ask: "open", soc: text.length, image: image.length, most, pend });
  const whole = new Uint8Array(head.length + text.length + image.length);
  whole.set(head);
  whole.set(text, head.length);
  whole.set(image, head.length + text.length);
  return whole;
};

let machine = null;
let said = "";

const start = async (program) => {
  const tell = lines((event) => postMessage(event));
  const { calls, begin, give } = system((file, bytes) => {
    if (file === 1) tell(bytes);
    else said += new TextDecoder().decode(bytes);
  });
  const imports = {};
  for (const { name } of WebAssembly.Module.imports(program)) imports[name] = calls[name] || (() => NO_SUCH_CALL);
  const { exports } = await WebAssembly.instantiate(program, { wasi_snapshot_preview1: imports });
  begin(exports.memory);
  return { exports, give };
};

onmessage = async ({ data }) => {
  try {
    if (data.program) {
      machine = await start(data.program);
      machine.give(opening(data));
      machine.exports._start();
    } else {
      machine.give(line(data));
      machine.exports.__main_void();
    }
  } catch (error) {
    if (!(error instanceof Ended)) postMessage({ event: "broken", text: `${error.message}. ${said}` });
  }
};
