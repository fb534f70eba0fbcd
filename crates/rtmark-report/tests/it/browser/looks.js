const height = d.documentElement.scrollHeight;
check(`no higher than ${most}: ${height}`, height < most);
check(`no wider than the window: ${d.documentElement.scrollWidth}`, d.documentElement.scrollWidth <= w.innerWidth);
// What decides stands on the first screen.
const bottom = (selector) => { const it = q(selector); return it ? it.getBoundingClientRect().bottom : Infinity; };
for (const [name, selector] of [["sentences", ".findings"], ["costs", ".costs"], ["waits and memory", ".card-table"]])
  check(`${name} are on the first screen: ${bottom(selector)}`, bottom(selector) <= w.innerHeight || w.innerWidth === 820);
check("five groups are one chart", qa("#overview-1 .strip .of").filter(seen).length === 5);
check("the line that holds interrupts back is told", q("#overview-1 .card-table").textContent.includes("src/exec.rs:545"));
// No word is broken inside.
const broken = [];
for (const node of texts()) {
  for (const word of node.data.matchAll(/[^\s\-–—/]+/g)) {
    const range = d.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    const lines = new Set([...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top)));
    if (lines.size > 1) broken.push(word[0]);
  }
}
check("no word is broken: " + broken.slice(0, 5), broken.length === 0);
// Nothing is cut off or lies over its neighbour.
const cut = qa(".matrix td, .matrix th, .card-table td, .card-table th").filter((each) => seen(each) && each.scrollWidth > each.clientWidth + 2);
check("no cell is too narrow: " + cut.slice(0, 4).map((each) => each.textContent.trim()), cut.length === 0);
const heads = qa("#block-1 .matrix thead th").map((head) => {
  const range = d.createRange();
  range.selectNodeContents(head);
  return range.getBoundingClientRect();
});
check("heads do not touch", heads.every((box, index) => index === 0 || box.left >= heads[index - 1].right - 0.5));
// Contrast, everything unfolded.
for (const details of qa("details")) details.open = true;
for (const theme of ["light", "dark"]) {
  await select("theme", theme);
  let [least, where] = [99, ""];
  for (const node of texts()) {
    const parent = node.parentElement;
    const style = w.getComputedStyle(parent);
    const colour = parent.ownerSVGElement ? style.fill : style.color;
    const ratio = contrast(colour, ground(parent));
    if (ratio < least) [least, where] = [ratio, `${node.data.trim().slice(0, 20)} in ${parent.tagName}.${parent.getAttribute("class")}`];
  }
  check(`contrast in ${theme}: ${least.toFixed(2)} of ${where}`, least >= 4.5);
}
