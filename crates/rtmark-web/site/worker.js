"use strict";
// Runs the program, whose system is this file: its input is a request, its output lines of events.
// It has no files, no network and no other way out.
const DONE = 0, BAD_FILE = 8, NO_SUCH_CALL = 52;

class Ended extends Error {}

/** The calls that the program may make of its system. */
const system = (input, output) => {
  let memory = null;
  let at = 0;
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
    fd_read: (file, list, count, told) => {
      if (file !== 0) return BAD_FILE;
      let length = 0;
      for (const piece of pieces(list, count)) {
        const part = input.subarray(at, at + piece.length);
        piece.set(part);
        at += part.length;
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
  return { calls, begin: (made) => { memory = made; } };
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

const request = ({ soc, image, cycles }) => {
  const text = new TextEncoder().encode(soc);
  const head = new TextEncoder().encode(`soc=${text.length} image=${image.length} cycles=${cycles}\n`);
  const whole = new Uint8Array(head.length + text.length + image.length);
  whole.set(head);
  whole.set(text, head.length);
  whole.set(image, head.length + text.length);
  return whole;
};

onmessage = async ({ data }) => {
  try {
    const module = await WebAssembly.compile(data.program);
    const line = lines((event) => postMessage(event));
    let said = "";
    const { calls, begin } = system(request(data), (file, bytes) => {
      if (file === 1) line(bytes);
      else said += new TextDecoder().decode(bytes);
    });
    const imports = {};
    for (const { name } of WebAssembly.Module.imports(module)) imports[name] = calls[name] || (() => NO_SUCH_CALL);
    const program = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: imports });
    begin(program.exports.memory);
    try {
      program.exports._start();
    } catch (error) {
      if (!(error instanceof Ended)) postMessage({ event: "broken", text: `${error.message}. ${said}` });
    }
  } catch (error) {
    postMessage({ event: "broken", text: error.message });
  }
};
