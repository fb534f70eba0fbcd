"use strict";
// The words of checks: the page stands in a frame, whose document is `d` and whose window is `w`.
const verdicts = [];
const frame = document.getElementById("frame");
let d, w;
const check = (name, fine) => verdicts.push([name, Boolean(fine)]);
const q = (selector) => d.querySelector(selector);
const qa = (selector, from = d) => [...from.querySelectorAll(selector)];
const seen = (element) => Boolean(element) && element.getClientRects().length > 0 && w.getComputedStyle(element).visibility === "visible";
const wait = (ms) => new Promise((then) => setTimeout(then, ms));
const click = async (target) => { (typeof target === "string" ? q(target) : target).click(); await wait(30); };
const select = async (name, value) => {
  const made = q(`select[name=${name}]`);
  made.value = value;
  made.dispatchEvent(new w.Event("change", { bubbles: true }));
  await wait(30);
};
const find = async (text) => {
  const field = q("#filter");
  field.value = text;
  field.dispatchEvent(new w.Event("input"));
  await wait(30);
};
const told = () => {
  const pre = document.createElement("pre");
  pre.id = "verdicts";
  pre.textContent = JSON.stringify(verdicts);
  document.body.replaceChildren(pre);
};
// The ratio of contrast between two colours, as WCAG 2 defines it.
const numbers = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => {
  const linear = (part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
};
const contrast = (a, b) => {
  const [x, y] = [light(numbers(a)), light(numbers(b))].sort((m, n) => n - m);
  return (x + 0.05) / (y + 0.05);
};
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = w.getComputedStyle(at).backgroundColor;
    const parts = numbers(colour);
    if (parts.length === 3 || parts[3] === 1) return colour;
  }
  return w.getComputedStyle(d.documentElement).colorScheme.includes("dark") ? "rgb(18, 18, 18)" : "rgb(255, 255, 255)";
};
const texts = () => {
  const walker = d.createTreeWalker(d.body, 4);
  const found = [];
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() && !["SCRIPT", "STYLE", "TITLE", "OPTION"].includes(parent.tagName.toUpperCase()) && seen(parent))
      found.push(walker.currentNode);
  }
  return found;
};
const begin = () => {
  frame.addEventListener("load", async () => {
    [d, w] = [frame.contentDocument, frame.contentWindow];
    await wait(300);
    try { await act(); } catch (error) { check("no error: " + error, false); }
    told();
  });
  frame.src = "report.html";
};
