/* On paper: the request that is shown with its tables, and what is told of all; drawn for the width of a page. What was
   closed is opened, and of its table only an extract is printed; what the reader opened is printed whole. */

const PAPER = 690, PRINTED = 30;  // pixels between the margins of A4; rows of an extract

let onPaper = false;

function paperWidth() { return onPaper ? PAPER : 0; }

/* The places of the rows around the one that is looked at. */
function around(rows) {
  const here = Math.max(0, rows.findIndex((row) => row.n === chosenNumber()));
  const from = Math.max(0, Math.min(here - PRINTED / 2, rows.length - PRINTED));
  return rows.map((_, index) => index).slice(from, from + PRINTED);
}

/* The places of the rows with the most characters. */
function largest(rows) {
  return rows.map((row, index) => [row.chars || 0, index]).sort((a, b) => b[0] - a[0]).slice(0, PRINTED).map(([, index]) => index).sort((a, b) => a - b);
}

function printedOnly(made) {
  const kept = new Set(made.extract()), rows = [...made.tBodies[0].rows];
  if (kept.size === rows.length) return;
  for (const row of rows) row.classList.toggle("unprinted", !kept.has(row));
  made.caption.append(el("span", { class: "extract" }, `; ${count(kept.size)} of ${count(rows.length)} rows, the others where this was opened before it was printed`));
}

function forPaper() {
  const closed = [...document.querySelectorAll("details:not([open])")], few = [];
  onPaper = true;
  fitAll();
  for (const node of closed) {
    node.open = true;
    node.fill();
    const made = node.querySelector("table");
    if (made && made.extract && made.extract().length === 0) node.classList.add("unprinted");
    else if (made && made.extract) { printedOnly(made); few.push(made); }
  }
  lookAt(chosenNumber());
  return () => {
    onPaper = false;
    for (const node of closed) { node.open = false; node.classList.remove("unprinted"); }
    for (const made of few) {
      for (const row of made.querySelectorAll(".unprinted")) row.classList.remove("unprinted");
      for (const words of made.querySelectorAll(".extract")) words.remove();
    }
    fitAll();
  };
}

function printing() {
  let back = null;
  addEventListener("beforeprint", () => { if (!back) back = forPaper(); });
  addEventListener("afterprint", () => { if (back) back(); back = null; });
}
