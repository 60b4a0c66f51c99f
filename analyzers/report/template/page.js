/* The page: what is chosen, and the sections drawn from the document. Nothing here adds figures up. */

let told = JSON.parse(document.getElementById("document").textContent);
const at = (id) => document.getElementById(id);
const state = { thread: 0, place: 0, unit: "chars", path: [] };
let byNumber = {};

function indexed() {
  const by = (rows) => new Map(rows.map((row) => [row.n, row]));
  byNumber = {
    request: by(told.requests),
    growth: by(told.growth.threads.flatMap((thread) => thread.turns)),
    cache: by(told.cache.sessions.flatMap((thread) => thread.rows)),
    cost: new Map(),
    step: by(told.sessions.flatMap((session) => session.threads.flatMap((thread) => thread.turns))),
  };
  for (const row of told.cost.rows) if (row.n !== null) byNumber.cost.set(row.n, row);
}

function chosenThread() { return told.threads[state.thread] || { session: null, label: "", requests: [] }; }

function chosenNumber() { return chosenThread().requests[state.place]; }

function show(section, ...nodes) {
  const heading = at(section).firstElementChild;
  at(section).replaceChildren(heading, ...nodes.filter(Boolean));
}

function note(text, cls = "soft") { return el("p", { class: cls }, text); }

/* Figures beside a chart, filled when opened; what was open stays open when the section is drawn again. */
function figures(section, summary, made) {
  const opened = at(section).dataset.opened === summary;
  const node = beside(summary, made);
  node.addEventListener("toggle", () => { if (node.open) at(section).dataset.opened = summary; else if (at(section).dataset.opened === summary) delete at(section).dataset.opened; });
  node.addEventListener("toggle", () => lookAt(chosenNumber()));
  if (opened) node.open = true;
  return node;
}

/* One request */

function drawRequest() {
  const request = byNumber.request.get(chosenNumber());
  at("which").textContent = request ? `#${request.n}, ${state.place + 1} of ${chosenThread().requests.length}` : "none";
  if (!request) return show("request", note("no request was recorded"));
  const step = byNumber.step.get(request.n);
  const heading = note(`#${request.n}, ${moment(request.time)} UTC, ${request.route || "?"}, ${request.model || "model unknown"}${request.model_requested && request.model_requested !== request.model ? ` (asked for ${request.model_requested})` : ""}, ${request.ended}${request.error ? ` ${request.error}` : ""}${step ? `, ${step.step}` : ""}`);
  const input = note(`input ${count(request.total_input_tokens)} = ${count(request.input_tokens)} in + ${count(request.cache_creation_input_tokens)} cache write + ${count(request.cache_read_input_tokens)} cache read; output ${count(request.output_tokens)} tokens`);
  if (!request.fields) return show("request", heading, input, note(`no sizes: ${request.reason || "no body"}`));
  const detail = el("p", { class: "detail", "aria-live": "polite" });
  const holder = el("figure", { id: "icicle" });
  const looked = (path) => { state.path = path; drawn(); const first = holder.querySelector("[tabindex='0']"); if (first) first.focus(); };
  function drawn() {
    const root = treeOf(told, request, state.unit);
    if (!state.path.every((index, depth) => state.path.slice(0, depth + 1).reduce((node, one) => node && node.children[one], root))) state.path = [];
    holder.replaceChildren(icicle(root, state.unit, detail, state.path, looked));
  }
  drawn();
  const kinds = new Set(request.fields.flatMap((field) => blocksOf(told, field).flatMap((block) => block.rows.flatMap((row) => row.parts.map((part) => part.kind)))));
  const tokens = state.unit === "tokens" ? note(told.tokens_unknown || "Tokens are estimates of the texts in blocks, ≥ where some cannot be told: these have no width. What the API adds around them (frames, its prompt for tools) is in no block.") : null;
  show("request", heading, input, el("p", { class: request.closes === false ? "bad" : null, id: "total" }, `${count(request.chars)} characters in ${request.fields.length} fields`), tokens, holder,
    legend([...told.kinds.filter(({ kind }) => kinds.has(kind) || kind === "structure").map(({ kind, words }) => [`k-${kind}`, words])]), detail,
    el("div", { class: "side" }, fieldTable(request), ledgerTable(request)), figures("request", "Every block of this request", () => blockTable(request)));
}

function fieldTable(request) {
  return table("Fields, largest first", [["field", false, (row) => row.name || "(body)"], ["characters", true, (row) => count(row.chars)], ["share", true, (row) => percent(row.share)],
    ["structure", true, (row) => count(row.structure)], ["unexplained", true, (row) => count(row.unexplained)], ["tokens, est.", true, (row) => (row.at_least && row.tokens !== null ? "≥" : "") + count(row.tokens)]],
  [...request.fields].sort((a, b) => b.chars - a.chars), { id: "fields" });
}

function ledgerTable(request) {
  const rows = (request.wire || []).map(({ step, amount }) => [step, amount, told.steps[step]]);
  rows.push(["unexplained", request.unexplained, "what is left: 0, or something is wrong"], ["bytes on the wire", request.wire_bytes, ""]);
  const made = table("From characters to bytes on the wire", [["step", false, (row) => row[0]], ["amount", true, (row) => count(row[1])], ["", false, (row) => row[2]]], rows, { id: "ledger", mark: (row) => row[2] === "" ? "sum" : null });
  return el("div", {}, made, ...request.differences.map((one) => note(`does not close: ${one.place} measured ${count(one.measured)}, must be ${count(one.recorded)} (${one.against})`, "bad")));
}

function blockTable(request) {
  const rows = request.fields.flatMap((field) => blocksOf(told, field).flatMap((block) => block.rows));
  return table(`Blocks of request #${request.n}`, [["block", false, (row) => row.path], ["characters", true, (row) => count(row.chars)], ["class", false, (row) => row.parts.map((part) => part.class).join(", ")],
    ["what", false, (row) => row.what || row.type], ["tokens (estimated)", true, (row) => count(row.tokens)], ["", false, (row) => row.reason || ""]], rows, { id: "blocks", tall: true });
}

/* Growth, cache, cost of the thread */

/* The request that is looked at, in the charts and tables of its thread: these are drawn once for the thread. */
function lookAt(n) {
  for (const node of document.querySelectorAll("figure")) if (node.look) node.look(n);
  for (const row of document.querySelectorAll("tr.now")) row.classList.remove("now");
  for (const row of document.querySelectorAll(`tr[data-n="${n}"]`)) row.classList.add("now");
}

function pick(n) { const place = chosenThread().requests.indexOf(n); if (place >= 0) goTo(place); }

function drawGrowth() {
  const rows = chosenThread().requests.map((n) => byNumber.growth.get(n)).filter(Boolean);
  if (!rows.length) return show("growth", note("This thread has one turn, or none that can be compared."));
  const words = { server: "", refusal: " (named by a refusal)", characters: " (estimated from characters)", estimator: " (estimated)" };
  const chart = bars({ label: `Tokens sent by each of ${rows.length} turns as bars, and all together as a line: ${count(rows[rows.length - 1].sent_tokens)}. The table below has the figures.`, pick, line: rows.map((row) => row.sent_tokens),
    rows: rows.map((row) => ({ n: row.n, parts: [["c-bar", row.total_input_tokens]], told: `#${row.n}: ${count(row.total_input_tokens)} tokens${words[row.counted_by] || ""}, ${count(row.sent_tokens)} so far` })) });
  show("growth", chart, legend([["c-bar", "tokens sent by the turn (left scale)"], ["c-key", "sent so far (right scale)"]]),
    figures("growth", "Figures of each turn", () => table("Growth by turn", [["turn", true, (row) => count(row.turn)], ["request", true, (row) => `#${row.n}`], ["step", false, (row) => row.step], ["sent", true, (row) => count(row.total_input_tokens) + (words[row.counted_by] || "")],
      ["added", true, (row) => count(row.added_tokens)], ["sent so far", true, (row) => (row.at_least ? "≥" : row.exact ? "" : "~") + count(row.sent_tokens)], ["output", true, (row) => count(row.output_tokens)], ["typed characters", true, (row) => count(row.typed_chars)], ["characters sent", true, (row) => count(row.sent_chars)]], rows, { id: "turns", tall: true, number: true })));
}

function drawCache() {
  const rows = chosenThread().requests.map((n) => byNumber.cache.get(n)).filter(Boolean);
  const session = told.sessions[chosenThread().session], name = session ? session.session : null;
  const yields = told.cache.breakpoints.filter((one) => one.session_index === chosenThread().session);
  const sum = told.cache.summary;
  const all = note(`All sessions: ${count(sum.cache_read_input_tokens)} of ${count(sum.total_input_tokens)} input tokens were read from the cache (${percent(sum.hit_rate)}); breaks: ${count(sum.broken)}; tokens written again: ${count(sum.written_again)}, sent again: ${count(sum.sent_again)}.`);
  if (!rows.length) return show("cache", all, note("No request of this choice belongs to a chain."));
  const broken = rows.filter((row) => row.broken);
  const chart = bars({ label: `Input tokens of each of ${rows.length} requests: read from the cache, written to it, and neither. Breaks of the chain: ${broken.length}. The table below has the figures.`, pick,
    rows: rows.map((row) => ({ n: row.n, mark: row.broken ? `#${row.n}: ${causeOf(row)}` : null, parts: [["c-read", row.cache_read_input_tokens], ["c-write", row.cache_creation_input_tokens], ["c-fresh", row.input_tokens]],
      told: `#${row.n}: read ${count(row.cache_read_input_tokens)}, written ${count(row.cache_creation_input_tokens)}, uncached ${count(row.input_tokens)}${row.broken ? `; break: ${causeOf(row)}` : ""}` })) });
  show("cache", all, chart, legend([["c-read", "read from the cache"], ["c-write", "written to the cache"], ["c-fresh", "neither"], ["mark", "break of the chain"]]),
    broken.length ? table("Breaks of this thread", [["request", true, (row) => `#${row.n}`], ["after", true, (row) => `#${row.follows}`], ["cause", false, causeOf], ["first difference", false, placeOf], ["should have read", true, (row) => count(row.expected_read)],
      ["written again", true, (row) => count(row.written_again)], ["sent again", true, (row) => count(row.sent_again)], ["USD more", true, (row) => usd(row.surcharge_usd)], ["the server says", false, (row) => row.server ? row.server.cache_miss_reason : ""]], broken, { id: "breaks" }) : note("No break in this thread."),
    yields.length ? table(`What each breakpoint of ${name} wrote, and what reading it saved`, [["breakpoint", false, (row) => row.place], ["requests", true, (row) => count(row.requests)], ["written", true, (row) => count(row.cache_creation_input_tokens)], ["read again", true, (row) => count(row.cache_read_input_tokens)],
      ["saved USD", true, (row) => usd(row.saved_usd)], ["paid USD", true, (row) => usd(row.paid_usd)], ["net USD", true, (row) => usd(row.net_usd)]], yields, { id: "breakpoints" }) : null,
    figures("cache", "Figures of each request", () => table("Cache by request", [["request", true, (row) => `#${row.n}`], ["uncached", true, (row) => count(row.input_tokens)], ["written", true, (row) => count(row.cache_creation_input_tokens)], ["of it 1 h", true, (row) => count(row.ephemeral_1h_input_tokens)], ["read", true, (row) => count(row.cache_read_input_tokens)],
      ["output", true, (row) => count(row.output_tokens)], ["read what was left?", false, (row) => row.follows === null ? "" : row.holds === null ? "?" : row.holds ? "yes" : "no"], ["cause", false, (row) => row.cause ? causeOf(row) : ""]], rows, { id: "chain", tall: true, number: true })));
}

function causeOf(row) { return row.cause_words || row.cause || "unknown"; }

function placeOf(row) {
  const place = row.difference;
  return place ? `${place.path}${place.name ? ` (${place.name})` : ""}: ${place.change}, ${place.chars.map((chars) => chars === null ? "none" : count(chars)).join(" → ")} characters` : "";
}

/* Where nothing in a sum has a price, no amount of it is known. */
function amount(row, figure) { return row.priced_calls || row.usd ? usd(figure) : row.unpriced_calls ? "?" : "0"; }

const COSTS = [["calls", true, (row) => count(row.calls)], ["input", true, (row) => amount(row, row.parts.input)], ["write 5 m", true, (row) => amount(row, row.parts.write_5m)], ["write 1 h", true, (row) => amount(row, row.parts.write_1h)], ["cache read", true, (row) => amount(row, row.parts.read)], ["output", true, (row) => amount(row, row.parts.output)],
  ["USD", true, (row) => (row.at_least && (row.priced_calls || row.usd) ? "≥" : "") + amount(row, row.usd)]];

function drawCost() {
  const cost = told.cost, rows = chosenThread().requests.map((n) => byNumber.cost.get(n)).filter(Boolean);
  const chart = rows.some((row) => row.usd !== null) ? bars({ label: `Cost in USD of each of ${rows.length} requests of this thread. The table below has the figures.`, pick, tall: 150, format: (value) => value.toFixed(value < .1 ? 3 : 2),
    rows: rows.map((row) => ({ n: row.n, parts: [["c-bar", row.usd]], told: `#${row.n}: ${usd(row.usd)} USD` })) }) : null;
  show("cost", el("p", { id: "spent" }, `${cost.totals.at_least ? "at least " : ""}${usd(cost.totals.usd)} USD for ${count(cost.totals.calls)} calls; ${cost.prices.own ? "your own prices, then " : ""}list prices of ${cost.prices.list} ${cost.prices.version}`),
    ...cost.unpriced.map((one) => note(`no price: ${count(one.calls)} calls of ${one.model || "no model"} (${one.reason})`, "bad")),
    table("By model", [["model", false, (row) => row.model || "?"], ...COSTS], cost.models, { id: "models" }), table("By session", [["session", false, (row) => row.session || "?"], ...COSTS], cost.sessions, { id: "cost-sessions" }),
    chart ? el("h3", {}, "By request of this thread") : null, chart,
    rows.length ? figures("cost", "Figures of each request", () => table("Cost by request", [["request", true, (row) => `#${row.n}`], ["model", false, (row) => row.model || "?"], ["input", true, (row) => part(row, "input")], ["write 5 m", true, (row) => part(row, "write_5m")], ["write 1 h", true, (row) => part(row, "write_1h")], ["cache read", true, (row) => part(row, "read")], ["output", true, (row) => part(row, "output")],
      ["USD", true, (row) => usd(row.usd)], ["", false, (row) => row.unpriced || (row.rules || []).join("; ")]], rows, { id: "costs", tall: true, number: true })) : null);
}

function part(row, name) { return row.parts ? usd(row.parts[name]) : "?"; }

/* What is not of one thread */

function drawTools() {
  const found = told.tools.find((one) => one.session === chosenThread().session), rows = found ? found.tools : [];
  if (!rows.length) return show("tools", note("No tool was defined or called in this session."));
  const most = Math.max(1, ...rows.map((row) => row.chars || 0));
  const bar = (row) => svg("svg", { viewBox: "0 0 160 10", class: "bar", "aria-hidden": "true", width: 160, height: 10 }, svg("rect", { class: row.used ? "k-tool" : "k-structure", width: 160 * (row.chars || 0) / most, height: 10 }));
  show("tools", table("Tools of this session, largest first; pale: never called", [["tool", false, (row) => row.name], ["characters", true, (row) => count(row.chars)], ["", false, bar], ["of it name and description", true, (row) => count(row.description_chars)], ["requests", true, (row) => count(row.requests)],
    ["calls", true, (row) => count(row.calls)], ["used", false, (row) => row.used ? "yes" : "never"], ["", false, (row) => row.chars === null ? "called, not defined" : row.deferred ? "deferred" : ""]], rows, { id: "tool-rows" }));
}

function drawPersonal() {
  const found = told.personal;
  if (!found) return show("personal", note("Not looked for."));
  const left = found.not_looked_into;
  const few = 30, columns = [["kind", false, (row) => row.kind], ["place", false, (row) => row.where], ["values", true, (row) => row.folded_values ? `${count(row.values)} + ${count(row.folded_values)} folded` : count(row.values)], ["characters", true, (row) => count(row.chars)],
    ["requests", true, (row) => count(row.requests)], ["first in", true, (row) => `#${row.first_request}`]];
  show("personal", found.places.length ? table("What was found, and where; never the values", columns, found.places.slice(0, few), { id: "places" }) : note("Nothing of what is looked for was found in what was kept."),
  found.places.length > few ? figures("personal", `All ${count(found.places.length)} places`, () => table("All places", columns, found.places, { id: "all-places", tall: true })) : null,
  found.more_places ? note(`${count(found.more_places)} more places: weighbridge privacy --all shows each`) : null,
  found.not_known.strings ? note(`not known: ${count(found.not_known.strings)} folded strings (${count(found.not_known.chars)} characters) were not looked through when they were recorded, and that is no sign that they were clean`) : null,
  left.undecoded || left.too_deep || left.over_limit ? note(`not looked into: ${count(left.undecoded)} encoded stretches that are no text (${count(left.undecoded_chars)} characters); texts too deep inside others: ${count(left.too_deep)}, over the limit: ${count(left.over_limit)}`) : null,
  found.masked_credentials ? note(`credentials masked when they were recorded: ${count(found.masked_credentials)}`) : null);
}

function drawSessions() {
  const tokens = [["input", "input_tokens"], ["cache write", "cache_creation_input_tokens"], ["cache read", "cache_read_input_tokens"], ["total input", "total_input_tokens"], ["output", "output_tokens"]].map(([name, member]) => [name, true, (row) => (!row.usage.complete && row.usage[member] !== null ? "≥" : "") + count(row.usage[member])]);
  const models = told.usage.models.map((row) => ({ session: row.model || "?", usage: row, calls: row.requests }));
  show("sessions", table("Sessions", [["session", false, (row) => row.session || "?"], ["first (UTC)", false, (row) => moment(row.first)], ["calls", true, (row) => count(row.calls)], ["threads", true, (row) => count(row.threads.length)], ["starts", false, (row) => row.warm_start === null ? "?" : row.warm_start ? "warm" : "cold"], ["failed attempts", true, (row) => count(row.failed_attempts)], ["side calls", true, (row) => count(row.side_calls.length)], ...tokens], told.sessions, { id: "session-rows" }),
    table("Tokens by model, each call counted once", [["model", false, (row) => row.session], ["calls", true, (row) => count(row.calls)], ...tokens], [...models, { session: "total", usage: told.usage.totals, calls: told.usage.totals.requests, sum: true }], { id: "usage", mark: (row) => row.sum ? "sum" : null }));
}

function drawProblems() {
  show("problems", told.problems.length ? el("ul", {}, ...told.problems.map((text) => el("li", {}, text))) : note("Nothing: every file and every line was used."));
  at("about").textContent = `requests: ${count(told.requests.length)}, sessions: ${count(told.sessions.length)}; made ${moment(told.made)} UTC by weighbridge ${told.version}`;
}

/* Choosing */

function goTo(place) {
  const last = Math.max(chosenThread().requests.length - 1, 0);
  state.place = Math.min(Math.max(place, 0), last);
  at("slider").max = String(last);
  at("slider").value = String(state.place);
  at("slider").setAttribute("aria-valuetext", chosenNumber() === undefined ? "none" : `request #${chosenNumber()}, ${state.place + 1} of ${last + 1}`);
  at("before").disabled = state.place === 0;
  at("after").disabled = state.place === last;
  drawRequest();
  lookAt(chosenNumber());
}

function choose(thread, place) {
  state.thread = Math.min(Math.max(thread, 0), Math.max(told.threads.length - 1, 0));
  at("thread").value = String(state.thread);
  drawGrowth(); drawCache(); drawCost(); drawTools();
  goTo(place);
}

function threadOptions() {
  const groups = new Map();
  told.threads.forEach((thread, index) => {
    const session = told.sessions[thread.session], name = session ? session.session || "?" : "no session";
    if (!groups.has(thread.session)) groups.set(thread.session, el("optgroup", { label: name }));
    groups.get(thread.session).append(el("option", { value: String(index) }, `${name.length > 20 ? `${name.slice(0, 18)}…` : name}: ${thread.label} (${thread.requests.length})`));
  });
  at("thread").replaceChildren(...groups.values());
}

function drawn() {
  indexed(); threadOptions(); drawSessions(); drawPersonal(); drawProblems();
}

function begin() {
  const longest = told.threads.reduce((best, thread, index) => thread.requests.length > told.threads[best].requests.length ? index : best, 0);
  drawn();
  choose(longest, Infinity);
  at("thread").addEventListener("change", (event) => { state.path = []; choose(Number(event.target.value), Infinity); });
  at("slider").addEventListener("input", (event) => goTo(Number(event.target.value)));
  at("before").addEventListener("click", () => goTo(state.place - 1));
  at("after").addEventListener("click", () => goTo(state.place + 1));
  at("unit").addEventListener("change", (event) => { state.unit = event.target.value; drawRequest(); });
  let closed = [];
  addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("details:not([open])")]; for (const node of closed) { node.open = true; node.fill(); } });
  addEventListener("afterprint", () => { for (const node of closed) node.open = false; });
  if (document.documentElement.dataset.live === "true") follow();
}

/* A newer document: the same thread and request are looked at, and the newest request is followed by the next. */
function taken(newer) {
  const old = chosenThread(), name = (told.sessions[old.session] || {}).session, followed = state.place >= old.requests.length - 1, walked = at("icicle") && at("icicle").contains(document.activeElement);
  told = newer;
  drawn();
  const same = told.threads.findIndex((thread) => thread.label === old.label && (told.sessions[thread.session] || {}).session === name);
  choose(same < 0 ? 0 : same, followed ? Infinity : state.place);
  if (walked) at("icicle").querySelector("[tabindex='0']").focus();
}

/* A live page asks its own server for what is new, less often where it does not answer. */
async function follow() {
  let tag = null, wait = 1000;
  for (;;) {
    await new Promise((done) => setTimeout(done, wait));
    try {
      const answer = await fetch("report.json", { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {} });
      wait = 1000;
      if (answer.status !== 200) continue;
      tag = answer.headers.get("ETag");
      const newer = await answer.json();
      if (newer.made === told.made) continue;
      taken(newer);
    } catch { wait = Math.min(wait * 2, 30000); }
  }
}

begin();
