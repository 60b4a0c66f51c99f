"use strict";
/* Elements made of names and texts. A text becomes a text node, never markup; no attribute is built out of one but names for screen readers. */

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child instanceof Node ? child : document.createTextNode(child));
  return node;
}

function el(name, attributes, ...children) { return filled(document.createElement(name), attributes, children); }

function svg(name, attributes, ...children) { return filled(document.createElementNS(SVG, name), attributes, children); }

function count(value) { return value === null || value === undefined ? "?" : value.toLocaleString("en-US"); }

/* A sum: ≥ where it is a lower bound, ? where nothing of it is known. */
function bound(value, atLeast) { return value === null || value === undefined ? "?" : (atLeast ? "≥" : "") + count(value); }

const DOLLARS = new Intl.NumberFormat("en-US", { minimumFractionDigits: 4, maximumFractionDigits: 4, roundingMode: "halfEven" });

/* USD to four decimals, as the commands print it: from the digits of the number, halves to even. */
function usd(value) { return value === null || value === undefined ? "?" : DOLLARS.format(String(value)); }

/* The same where an amount is a part of a sum: nothing is 0, and what is less than can be shown is told as less. */
function part(value) { return value === null || value === undefined ? "?" : !Number(value) ? "0" : value > 0 && value < .0001 ? "<0.0001" : usd(value); }

function percent(value) { return value === null || value === undefined ? "?" : `${value.toFixed(1)} %`; }

function times(number, one, many = `${one}s`) { return `${count(number)} ${number === 1 ? one : many}`; }

/* A name that is no longer than an id stays in one line. */
function named(name) { return el("span", { class: name.length <= 40 ? "id" : null }, name); }

function moment(text) { return text ? text.slice(0, 19).replace("T", " ") : "?"; }

/* Columns: [heading, is a number, cell of a row]. Options: id; mark: the class of a row; number: rows are of requests;
   tall: scrolls in its own box; extract: the rows that are printed where it was not opened (paper.js). */
function table(caption, columns, rows, options = {}) {
  const head = el("tr", {}, ...columns.map(([name, number]) => el("th", { scope: "col", class: number ? "n" : null }, name)));
  const body = rows.map((row) => el("tr", { class: options.mark ? options.mark(row) : null, "data-n": options.number ? String(row.n) : null },
    ...columns.map(([, number, cell]) => { const told = cell(row); return el("td", { class: number ? "n" : null }, told instanceof Node ? told : String(told)); })));
  const made = el("table", { id: options.id }, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...body));
  if (options.extract) made.extract = () => options.extract(rows).map((index) => body[index]);
  return el("div", { class: `scroll${options.tall ? " tall" : ""}${rows.length <= 12 ? " short" : ""}`, tabindex: options.tall ? "0" : null, role: options.tall ? "region" : null, "aria-label": options.tall ? caption : null }, made);
}

/* What stands beside a chart: its figures, filled when it is opened, or printed. */
function beside(summary, made) {
  const node = el("details", { ontoggle: () => { if (node.open) node.fill(); } }, el("summary", {}, summary));
  node.fill = () => { if (node.childElementCount === 1) node.append(made()); };
  return node;
}

function legend(entries) {
  return el("ul", { class: "legend" }, ...entries.map(([cls, words]) =>
    el("li", {}, svg("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, cls === "mark" ? svg("path", { class: cls, d: "M0 0h10l-5 10z" }) : svg("rect", { class: cls, width: 10, height: 10 })), words)));
}
