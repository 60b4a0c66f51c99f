/* Bars and lines over the requests of a thread. Only layout: the figures come as they are. */

const WIDE = 1000, LEFT = 64, BELOW = 20, ABOVE = 12;

function step(most) {
  const rough = most / 4, power = 10 ** Math.floor(Math.log10(rough || 1));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) || 1;
}

/* rows: for each request {n, parts: [[class, figure]], mark: text or null, told}; line: figures over the same, with its own
   scale. Few elements, however many requests: one path for all bars of a class. What is pointed at is told in a line below. */
function bars(given) {
  const { label, rows, line, tall = 190, format = count, pick } = given;
  const known = rows.map((row) => row.parts.reduce((sum, [, figure]) => sum + (figure || 0), 0));
  const most = Math.max(1e-9, ...known), lineMost = Math.max(1e-9, ...(line || []).map((figure) => figure || 0));
  const right = line ? 64 : 8, width = (WIDE - LEFT - right) / Math.max(rows.length, 1), high = tall - ABOVE - BELOW;
  const y = (figure, top) => ABOVE + high - (figure / top) * high, out = [], paths = new Map(), every = step(most);
  for (let at = 0; at <= most * 1.0001; at += every) {
    out.push(svg("line", { class: "axis", x1: LEFT, x2: WIDE - right, y1: y(at, most), y2: y(at, most) }),
      svg("text", { class: "soft", x: LEFT - 6, y: y(at, most) + 4, "text-anchor": "end" }, format(at)));
  }
  rows.forEach((row, index) => {
    let base = 0;
    for (const [cls, figure] of row.parts) {
      if (!figure) continue;
      paths.set(cls, `${paths.get(cls) || ""}M${LEFT + (index + .06) * width} ${y(base + figure, most)}h${Math.max(width * .88, .4)}v${(figure / most) * high}h${-Math.max(width * .88, .4)}z`);
      base += figure;
    }
  });
  for (const [cls, d] of paths) out.push(svg("path", { class: cls, d }));
  rows.forEach((row, index) => {
    if (row.mark) out.push(svg("path", { class: "mark", d: `M${LEFT + (index + .5) * width} ${ABOVE - 1}l-5 -9h10z` }, svg("title", {}, row.mark)));
    if (index % Math.max(1, Math.ceil(rows.length / 16)) === 0) out.push(svg("text", { class: "soft", x: LEFT + (index + .5) * width, y: tall - 4, "text-anchor": "middle" }, `#${row.n}`));
  });
  if (line) {
    const points = line.map((figure, index) => figure === null ? null : `${LEFT + (index + .5) * width} ${y(figure, lineMost)}`);
    out.push(svg("path", { class: "c-line", d: points.map((point, index) => point === null ? "" : `${index && points[index - 1] !== null ? "L" : "M"}${point}`).join("") }));
    out.push(svg("text", { class: "soft", x: WIDE - right + 6, y: y(lineMost, lineMost) + 4 }, format(lineMost)), svg("text", { class: "soft", x: WIDE - right + 6, y: y(0, 1) }, "0"));
  }
  const now = svg("rect", { class: "now", width, y: ABOVE, height: high, visibility: "hidden" });
  const detail = el("p", { class: "detail" });
  const chart = svg("svg", { viewBox: `0 0 ${WIDE} ${tall}`, role: "img", "aria-label": label }, ...out, now);
  const under = (event) => {
    const box = chart.getBoundingClientRect();
    return rows[Math.floor(((event.clientX - box.left) / box.width * WIDE - LEFT) / width)];
  };
  chart.addEventListener("pointermove", (event) => { const row = under(event); detail.textContent = row ? row.told : ""; });
  chart.addEventListener("click", (event) => { const row = under(event); if (row) pick(row.n); });
  const node = el("figure", {}, chart, detail);
  node.look = (n) => {
    const index = rows.findIndex((row) => row.n === n);
    now.setAttribute("visibility", index < 0 ? "hidden" : "visible");
    if (index >= 0) now.setAttribute("x", LEFT + index * width);
  };
  return node;
}
