// Perfetto's trace processor as its UI has it: made for a worker of a browser, whose globals it
// gets here. What comes by stdin is handed to it, and what it answers goes to stdout.
//
// usage: node worker.js FOLDER      (the one with engine_bundle.js)
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const vm = require("node:vm");

const { argv, stdout } = process;
const folder = path.resolve(argv[2]);

// Stdout is for answers.
console.log = console.info = console.warn = console.error;

// Node.js is no place that it knows.
delete globalThis.process;
globalThis.WorkerGlobalScope = class {};
globalThis.crypto ??= require("node:crypto").webcrypto;
globalThis.self = { location: { href: pathToFileURL(folder + path.sep).href } };
// It loads its WebAssembly by a name in its own folder, at once.
globalThis.XMLHttpRequest = class {
  open(_method, name) {
    this.name = name;
  }
  send() {
    this.response = fs.readFileSync(path.join(folder, path.basename(this.name)));
  }
};

const bundle = path.join(folder, "engine_bundle.js");
vm.runInThisContext(fs.readFileSync(bundle, "utf8"), { filename: bundle });

const port = { postMessage: (bytes) => stdout.write(bytes) };
// When it has been started.
setImmediate(() => {
  self.onmessage({ data: port });
  port.onmessage({ data: new Uint8Array(fs.readFileSync(0)) });
});
