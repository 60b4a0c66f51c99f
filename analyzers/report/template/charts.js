/* Bars and lines over the requests of a thread. Only layout: the figures come as they are. */

const LEFT = 64, BELOW = 20, ABOVE = 12, NARROWEST_DRAWING = 260, WIDEST_BAR = 44;

/* A figure that is drawn for the width there is, in its pixels, so that texts keep their size; again when that changes. */
function fitting(attributes, draw) {
  const node = el("figure", attributes);
  node.fit = () => {
    const wide = drawingWidth();
    if (node.wide === wide) return;
    node.wide = wide;
    draw(node, wide);
  };
  node.fit();
  return node;
}

function drawingWidth() { return Math.max(NARROWEST_DRAWING, paperWidth() || Math.floor(document.querySelector("main").clientWidth)); }

function fitAll() { for (const node of document.querySelectorAll("figure")) if (node.fit) node.fit(); }

function step(most) {
  const rough = most / 4, power = 10 ** Math.floor(Math.log10(rough || 1));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) || 1;
}

/* rows: for each request {n, parts: [[class, figure]], mark: text or null, told}; line: figures over the same, with its own
   scale. Few elements, however many requests: one path for all bars of a class. What is pointed at is told in a line below. */
function bars(given) {
  const detail = el("p", { class: "detail" });
  let looked = null;
  const node = fitting({}, (figure, wide) => {
    const chart = drawnBars(given, wide, detail);
    figure.replaceChildren(chart, detail);
    figure.look = (n) => { looked = n; chart.look(n); };
    if (looked !== null) chart.look(looked);
  });
  return node;
}

function drawnBars({ label, rows, line, tall = 190, format = count, pick }, wide, detail) {
  const known = rows.map((row) => row.parts.reduce((sum, [, figure]) => sum + (figure || 0), 0));
  const most = Math.max(1e-9, ...known), lineMost = Math.max(1e-9, ...(line || []).map((figure) => figure || 0));
  const right = line ? 16 + 6.6 * format(lineMost).length : 8, width = (wide - LEFT - right) / Math.max(rows.length, 1), high = tall - ABOVE - BELOW;
  const middle = (index) => LEFT + (index + .5) * width, y = (figure, top) => ABOVE + high - (figure / top) * high, out = [];
  const nothing = known.every((figure) => !figure);
  for (let at = 0, every = step(most); at <= (nothing ? 0 : most * 1.0001); at += every) {
    out.push(svg("line", { class: "axis", x1: LEFT, x2: wide - right, y1: y(at, most), y2: y(at, most) }),
      svg("text", { class: "soft", x: LEFT - 6, y: y(at, most) + 4, "text-anchor": "end" }, format(at)));
  }
  for (const [cls, d] of barPaths(rows, most, high, width, middle, y)) out.push(svg("path", { class: cls, d }));
  const every = Math.max(1, Math.ceil(rows.length / Math.max(1, Math.floor((wide - LEFT - right) / 56))));
  rows.forEach((row, index) => {
    if (row.parts.every(([, figure]) => figure === null || figure === undefined)) out.push(svg("text", { class: "soft unknown", x: middle(index), y: ABOVE + high - 4, "text-anchor": "middle" }, "?"));
    if (row.mark) out.push(svg("path", { class: "mark", d: `M${middle(index)} ${ABOVE - 1}l-5 -9h10z` }, svg("title", {}, row.mark)));
    if (index % every === 0) out.push(svg("text", { class: "soft", x: middle(index), y: tall - 4, "text-anchor": "middle" }, `#${row.n}`));
  });
  if (line) {
    out.push(...drawnLine(line, middle, (figure) => y(figure, lineMost)));
    out.push(svg("text", { class: "soft", x: wide - right + 6, y: y(lineMost, lineMost) + 4 }, format(lineMost)), svg("text", { class: "soft", x: wide - right + 6, y: y(0, 1) }, "0"));
  }
  const now = svg("rect", { class: "now", width, y: ABOVE, height: high, visibility: "hidden" });
  const chart = svg("svg", { viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": label }, ...out, now);
  const under = (event) => {
    const box = chart.getBoundingClientRect();
    return rows[Math.floor(((event.clientX - box.left) / box.width * wide - LEFT) / width)];
  };
  chart.addEventListener("pointermove", (event) => { const row = under(event); detail.textContent = row ? row.told : ""; });
  chart.addEventListener("click", (event) => { const row = under(event); if (row) pick(row.n); });
  chart.look = (n) => {
    const index = rows.findIndex((row) => row.n === n);
    now.setAttribute("visibility", index < 0 ? "hidden" : "visible");
    if (index >= 0) now.setAttribute("x", LEFT + index * width);
  };
  return chart;
}

/* The bars of each class as one path. */
function barPaths(rows, most, high, width, middle, y) {
  const paths = new Map(), wide = Math.min(Math.max(width * .88, .4), WIDEST_BAR);
  rows.forEach((row, index) => {
    let base = 0;
    for (const [cls, figure] of row.parts) {
      if (!figure) continue;
      paths.set(cls, `${paths.get(cls) || ""}M${middle(index) - wide / 2} ${y(base + figure, most)}h${wide}v${(figure / most) * high}h${-wide}z`);
      base += figure;
    }
  });
  return paths;
}

/* A line through what is known; what has no neighbour is a point. */
function drawnLine(line, middle, y) {
  const known = (index) => index >= 0 && index < line.length && line[index] !== null && line[index] !== undefined;
  const d = line.map((figure, index) => known(index) ? `${known(index - 1) ? "L" : "M"}${middle(index)} ${y(figure)}` : "").join("");
  const alone = line.map((_, index) => index).filter((index) => known(index) && !known(index - 1) && !known(index + 1));
  return [svg("path", { class: "c-line", d }), ...alone.map((index) => svg("circle", { class: "c-key", cx: middle(index), cy: y(line[index]), r: 4 }))];
}
