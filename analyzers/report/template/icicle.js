/* A request as an icicle: fields, their blocks, and the leaves of these, each as wide as its figure. */

const ROW = 46, NARROWEST = .6, THIN = 2.5, PER_CHARACTER = 6.4;

function blocksOf(told, field) {
  return field.blocks.flatMap(([first, number]) => told.blocks.slice(first, first + number));
}

/* The tree of a request in a unit; a node has a figure, or none where it is unknown, and a key among its siblings. */
function treeOf(told, request, unit) {
  const inTokens = unit === "tokens";
  const fields = request.fields.map((field) => {
    const children = blocksOf(told, field).map((block) => ({
      key: block.path, name: block.path + (block.label ? ` ${block.label}` : ""), figure: inTokens ? block.tokens : block.chars, atLeast: inTokens && block.at_least && block.tokens !== null, cls: "box",
      children: block.rows.flatMap((row) => leaves(row, inTokens)),
    }));
    if (!inTokens && field.structure) children.push({ key: "structure", name: `${field.name}: structure`, figure: field.structure, cls: "k-structure", what: "keys, roles, types, ids, cache_control", children: [] });
    return { key: field.name, name: field.name || "(body)", figure: inTokens ? field.tokens : field.chars, atLeast: inTokens && field.at_least && field.tokens !== null, cls: "field", share: inTokens ? null : field.share, children };
  });
  return { name: `request #${request.n}`, figure: inTokens ? request.tokens : request.chars, atLeast: inTokens && request.at_least && request.tokens !== null, cls: "box", children: apart(fields) };
}

/* Siblings whose keys are the same are told apart by their number: two folded names may look alike. */
function apart(nodes) {
  const seen = new Map();
  for (const node of nodes) {
    const before = seen.get(node.key) || 0;
    seen.set(node.key, before + 1);
    if (before) node.key += ` (${before + 1})`;
    apart(node.children);
  }
  return nodes;
}

function leaves(row, inTokens) {
  const what = [row.type, row.what].filter(Boolean).join(", ");
  if (inTokens) return row.tokens ? [{ key: row.path, name: row.path, what, figure: row.tokens, atLeast: row.at_least, cls: `k-${row.parts[0] ? row.parts[0].kind : "unknown"}`, children: [] }] : [];
  return row.parts.map((part) => ({ key: `${row.path} ${part.class}`, name: row.path, what: row.parts.length > 1 ? `${what}, ${part.class}` : what, figure: part.chars, cls: `k-${part.kind}`, children: [] }));
}

function saidOf(node, unit) {
  if (node.narrow) return node.name;
  const share = node.share === null || node.share === undefined ? "" : `, ${percent(node.share)}`;
  return `${node.name}: ${node.atLeast ? "at least " : ""}${count(node.figure)} ${unit === "tokens" ? "tokens (estimated)" : "characters"}${share}${node.what ? `, ${node.what}` : ""}`;
}

/* The node that a path of keys leads to; undefined where it leads nowhere. */
function nodeAt(root, path) { return path.reduce((node, key) => node && node.children.find((child) => child.key === key), root); }

/* Draws the tree from a node that is looked at; keys: arrows move, Enter looks closer, Escape looks from further away. */
function icicle(root, unit, detail, path, looked, wide) {
  const top = nodeAt(root, path), drawn = [];
  const out = svg("svg", { viewBox: `0 0 ${wide} ${ROW * 4}`, role: "group", "aria-label": `${saidOf(root, unit)}. Arrow keys move, Enter looks closer, Escape goes back.` });
  function place(node, depth, x, width, way) {
    drawn.push({ node, depth, x, width, way });
    if (depth === 3 || !node.figure) return;
    let at = x, narrow = [], from = x;
    const together = () => {
      const said = `${narrow.length} that are too narrow to draw; the table has them`;
      if (at - from >= NARROWEST) drawn.push({ node: { name: said, cls: "box", narrow: true, children: [] }, depth: depth + 1, x: from, width: at - from, way });
      narrow = [];
    };
    for (const child of node.children) {
      const span = width * (child.figure || 0) / node.figure;
      if (span >= NARROWEST) { if (narrow.length) together(); place(child, depth + 1, at, span, [...way, child.key]); }
      else if (span > 0) { if (!narrow.length) from = at; narrow.push(child); }
      at += span;
    }
    if (narrow.length) together();
  }
  place(top, 0, 0, wide, path);
  const byRect = new Map(), closer = (one) => looked(one.node.children.length && one !== drawn[0] ? one.way : path.slice(0, -1));
  drawn.forEach((one, index) => {
    const said = saidOf(one.node, unit), has = one.node.children.length > 0;
    const rect = svg("rect", { class: `leaf ${one.node.cls}${one.width < THIN ? " thin" : ""}`, x: one.x, y: one.depth * ROW, width: one.width, height: ROW - 1, tabindex: index ? "-1" : "0", role: has ? "button" : "img", "aria-label": said });
    one.rect = rect;
    byRect.set(rect, one);
    out.append(rect);
    const fits = Math.floor((one.width - 8) / PER_CHARACTER), name = one.node.name;
    if (fits >= 4) {
      const cls = `inside on-${one.node.cls}`;
      out.append(svg("text", { class: cls, x: one.x + 4, y: one.depth * ROW + 18 }, name.length > fits ? `${name.slice(0, fits - 1)}…` : name));
      if (!one.node.narrow && count(one.node.figure).length <= fits) out.append(svg("text", { class: cls, x: one.x + 4, y: one.depth * ROW + 34 }, (one.node.atLeast ? "≥" : "") + count(one.node.figure)));
    }
  });
  const around = el("div", {}, out);  // an svg that listens for focus would be a stop of its own
  for (const kind of ["focusin", "pointerover"]) around.addEventListener(kind, (event) => { if (byRect.has(event.target)) detail.textContent = event.target.getAttribute("aria-label"); });
  around.addEventListener("click", (event) => { if (byRect.has(event.target)) closer(byRect.get(event.target)); });
  around.addEventListener("keydown", (event) => { if (byRect.has(event.target)) moved(event, byRect.get(event.target), drawn, closer, () => looked(path.slice(0, -1))); });
  return around;
}

function moved(event, here, drawn, closer, back) {
  const inRow = drawn.filter((one) => one.depth === here.depth).sort((a, b) => a.x - b.x), along = inRow.indexOf(here);
  const overlaps = (one) => one.x < here.x + here.width && one.x + one.width > here.x;
  const to = { ArrowLeft: inRow[along - 1], ArrowRight: inRow[along + 1], Home: inRow[0], End: inRow[inRow.length - 1],
    ArrowUp: drawn.find((one) => one.depth === here.depth - 1 && overlaps(one)), ArrowDown: drawn.find((one) => one.depth === here.depth + 1 && overlaps(one)) }[event.key];
  if (to) { here.rect.setAttribute("tabindex", "-1"); to.rect.setAttribute("tabindex", "0"); to.rect.focus(); }
  else if (event.key === "Enter" || event.key === " ") closer(here);
  else if (event.key === "Escape") back();
  else if (!event.key.startsWith("Arrow")) return;
  event.preventDefault();
}
