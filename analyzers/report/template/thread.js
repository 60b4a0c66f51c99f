/* Growth, cache and cost of the thread that is chosen. Drawn once for the thread; the request that is looked at is marked in them. */

function lookAt(n) {
  for (const node of document.querySelectorAll("figure")) if (node.look) node.look(n);
  for (const row of document.querySelectorAll("tr.now")) row.classList.remove("now");
  for (const row of document.querySelectorAll(`tr[data-n="${n}"]`)) row.classList.add("now");
}

function pick(n) { const place = chosenThread().requests.indexOf(n); if (place >= 0) goTo(place); }

function rowsOf(part) { return chosenThread().requests.map((n) => byNumber[part].get(n)).filter(Boolean); }

const COUNTED_BY = { server: "", refusal: " (named by a refusal)", characters: " (estimated from characters)", estimator: " (estimated)" };

/* What was sent so far; of nothing that is known, nothing is known. */
function soFar(row) { return row.at_least && !row.sent_tokens ? null : row.sent_tokens; }

function soFarSaid(row) { const sum = soFar(row); return (sum === null ? "" : row.at_least ? "≥" : row.exact ? "" : "~") + count(sum); }

function drawGrowth() {
  const rows = rowsOf("growth");
  if (!rows.length) return show("growth", note("This thread has one turn, or none that can be compared."));
  const chart = bars({ label: `Tokens sent by each of ${times(rows.length, "turn")} as bars, and all together as a line: ${soFarSaid(rows[rows.length - 1])}. The table below has the figures.`, pick, line: rows.map(soFar),
    rows: rows.map((row) => ({ n: row.n, parts: [["c-bar", row.total_input_tokens]], told: `#${row.n}: ${count(row.total_input_tokens)} tokens${COUNTED_BY[row.counted_by] || ""}, ${soFarSaid(row)} so far` })) });
  show("growth", chart, legend([["c-bar", "tokens sent by the turn (left scale)"], ["c-key", "sent so far (right scale)"]]),
    figures("growth", "Figures of each turn", () => table("Growth by turn", [["turn", true, (row) => count(row.turn)], ["request", true, (row) => `#${row.n}`], ["step", false, (row) => row.step], ["sent", true, (row) => count(row.total_input_tokens) + (COUNTED_BY[row.counted_by] || "")],
      ["added", true, (row) => count(row.added_tokens)], ["sent so far", true, soFarSaid], ["output", true, (row) => count(row.output_tokens)], ["typed characters", true, (row) => count(row.typed_chars)], ["characters sent", true, (row) => count(row.sent_chars)]], rows, { id: "turns", tall: true, number: true, extract: around })));
}

/* Prompt cache */

/* What the sums of the chains are worth: of how many requests the counters are known. */
function cacheSum() {
  const sum = told.cache.summary, counted = told.cache.counted;
  if (!counted.requests) return "No request is a turn of a thread: there is no chain.";
  const unread = counted.requests - counted.known, unjudged = counted.following - counted.judged;
  const read = counted.known ? `${count(sum.cache_read_input_tokens)} of ${count(sum.total_input_tokens)} input tokens were read from the cache (${percent(sum.hit_rate)})${unread ? `, as far as is known: ${count(unread)} of ${times(counted.requests, "request")} have no counters` : ""}`
    : `what was read from the cache is not known: ${counted.requests === 1 ? "the request has" : `none of the ${count(counted.requests)} requests has`} ${counted.requests === 1 ? "no " : ""}counters`;
  const open = unjudged > 0, breaks = counted.following && !counted.judged ? "breaks: not known"
    : `breaks: ${bound(sum.broken, open)}; tokens written again: ${bound(sum.written_again, open)}, sent again: ${bound(sum.sent_again, open)}`;
  return `Turns of the threads of all sessions: ${read}; ${breaks}.`;
}

const CHAIN_ONLY = "Side calls (summaries for compaction, titles) and failed attempts are in no chain and not counted here; “Tokens by model” below counts them too.";

function drawCache() {
  const rows = rowsOf("cache"), sums = [el("p", { class: "soft", id: "cache-sum" }, cacheSum()), note(CHAIN_ONLY)];
  if (!rows.length) return show("cache", ...sums, note("No request of this choice belongs to a chain."));
  const broken = rows.filter((row) => row.broken), unjudged = rows.filter((row) => row.follows !== null && row.holds === null).length;
  const chart = bars({ label: `Input tokens of each of ${times(rows.length, "request")}: read from the cache, written to it, and neither. Breaks of the chain: ${bound(broken.length, unjudged > 0)}. The table below has the figures.`, pick,
    rows: rows.map((row) => ({ n: row.n, mark: row.broken ? `#${row.n}: ${causeOf(row)}` : null, parts: [["c-read", row.cache_read_input_tokens], ["c-write", row.cache_creation_input_tokens], ["c-fresh", row.input_tokens]],
      told: `#${row.n}: read ${count(row.cache_read_input_tokens)}, written ${count(row.cache_creation_input_tokens)}, uncached ${count(row.input_tokens)}${row.broken ? `; break: ${causeOf(row)}` : ""}` })) });
  const none = unjudged ? `No break that is known: ${count(unjudged)} of ${times(rows.length, "request")} cannot be judged.` : "No break in this thread.";
  show("cache", ...sums, chart, legend([["c-read", "read from the cache"], ["c-write", "written to the cache"], ["c-fresh", "neither"], ["mark", "break of the chain"]]),
    broken.length ? breakTable(broken) : note(none), ...breakpointTable(),
    figures("cache", "Figures of each request", () => table("Cache by request", [["request", true, (row) => `#${row.n}`], ["uncached", true, (row) => count(row.input_tokens)], ["written", true, (row) => count(row.cache_creation_input_tokens)], ["of it 1 h", true, (row) => count(row.ephemeral_1h_input_tokens)], ["read", true, (row) => count(row.cache_read_input_tokens)],
      ["output", true, (row) => count(row.output_tokens)], ["read what was left?", false, (row) => row.follows === null ? "" : row.holds === null ? "?" : row.holds ? "yes" : "no"], ["cause", false, (row) => row.cause ? causeOf(row) : ""]], rows, { id: "chain", tall: true, number: true, extract: around })));
}

function breakTable(broken) {
  return table("Breaks of this thread", [["request", true, (row) => `#${row.n}`], ["after", true, (row) => `#${row.follows}`], ["cause", false, causeOf], ["first difference", false, placeOf], ["should have read", true, (row) => count(row.expected_read)],
    ["written again", true, (row) => count(row.written_again)], ["sent again", true, (row) => count(row.sent_again)], ["USD more", true, (row) => usd(row.surcharge_usd)], ["the server says", false, (row) => row.server ? row.server.cache_miss_reason : ""]], broken, { id: "breaks" });
}

function breakpointTable() {
  const index = chosenThread().session, session = told.sessions[index], name = session ? session.session : "?";
  const yields = told.cache.breakpoints.filter((one) => one.session_index === index), counted = told.cache.counted_by_session.find((one) => one.session_index === index);
  if (!yields.length) return [];
  const missing = counted ? counted.requests - counted.known : 0, nothing = counted && !counted.known;
  const known = (cell) => (row) => nothing ? "?" : cell(row);
  return [table(`What each breakpoint of ${name} wrote, and what reading it saved`, [["breakpoint", false, (row) => row.place], ["requests", true, (row) => count(row.requests)],
    ["written", true, known((row) => bound(row.cache_creation_input_tokens, missing > 0))], ["read again", true, known((row) => bound(row.cache_read_input_tokens, missing > 0))],
    ["saved USD", true, known((row) => usd(row.saved_usd))], ["paid USD", true, known((row) => usd(row.paid_usd))], ["net USD", true, known((row) => usd(row.net_usd))]], yields, { id: "breakpoints" }),
  missing && !nothing ? note(`${count(missing)} of ${times(counted.requests, "request")} of this session have no counters: what these wrote and read is in no sum here`) : null];
}

function causeOf(row) { return row.cause_words || row.cause || "unknown"; }

function placeOf(row) {
  const place = row.difference;
  return place ? `${place.path}${place.name ? ` (${place.name})` : ""}: ${place.change}, ${place.chars.map((chars) => chars === null ? place.change === "not known" ? "?" : "none" : count(chars)).join(" → ")} characters` : "";
}

/* Cost */

/* Where nothing in a sum has a price, no amount of it is known. */
function hasNoPrice(row) { return !row.priced_calls && !row.usd; }

function amount(row, figure) { return hasNoPrice(row) ? row.unpriced_calls ? "?" : "0" : part(figure); }

/* ≥: a lower bound; ~: the lower end of a range, or perhaps not all of it billed. */
function spent(row, atLeast) { return (atLeast || row.usd_most_exact === null ? "≥" : row.usd_most_exact !== row.usd_exact ? "~" : "") + part(row.usd_exact); }

const PARTS = [["input", "input"], ["write 5 m", "write_5m"], ["write 1 h", "write_1h"], ["cache read", "read"], ["output", "output"], ["web search", "web_search"]];

const COSTS = [["calls", true, (row) => count(row.calls)], ...PARTS.map(([name, member]) => [name, true, (row) => amount(row, row.parts[member])]),
  ["USD", true, (row) => hasNoPrice(row) ? amount(row, null) : spent(row, row.at_least)]];

function costSum() {
  const { totals, prices } = told.cost, list = `${prices.own ? "your own prices, then " : ""}list prices of ${prices.list} ${prices.version}`;
  if (hasNoPrice(totals) && totals.unpriced_calls) return `USD not known: ${totals.unpriced_calls === totals.calls ? "no call" : `none of ${times(totals.calls, "call")}`} has a price that can be told; ${list}`;
  const range = totals.usd_most_exact !== null && totals.usd_most_exact !== totals.usd_exact ? `, at most ${part(totals.usd_most_exact)},` : "";
  return `${totals.at_least ? "at least " : ""}${part(totals.usd_exact)} USD${totals.at_least ? "" : range} for ${times(totals.calls, "call")}; ${list}`;
}

function drawCost() {
  const cost = told.cost, rows = rowsOf("cost");
  const ofCall = (member) => (row) => row.parts ? part(row.parts[member]) : row.free ? "0" : "?";
  const chart = rows.some((row) => row.usd !== null) ? bars({ label: `Cost in USD of each of ${times(rows.length, "request")} of this thread. The table below has the figures.`, pick, tall: 150, format: (value) => value.toFixed(value < .1 ? 3 : 2),
    rows: rows.map((row) => ({ n: row.n, parts: [["c-bar", row.free ? 0 : row.usd]], told: `#${row.n}: ${callSaid(row)} USD` })) }) : null;
  show("cost", el("p", { id: "spent" }, costSum()),
    ...cost.unpriced.map((one) => note(`no price: ${times(one.calls, "call")} of ${one.model || "no model"} (${one.reason})`, "bad")),
    table("By model", [["model", false, (row) => row.model || "?"], ...COSTS], cost.models, { id: "models" }), table("By session", [["session", false, (row) => named(row.session || "?")], ...COSTS], cost.sessions, { id: "cost-sessions" }),
    chart ? el("h3", {}, "By request of this thread") : null, chart,
    rows.length ? figures("cost", "Figures of each request", () => table("Cost by request", [["request", true, (row) => `#${row.n}`], ["model", false, (row) => row.model || "?"], ...PARTS.map(([name, member]) => [name, true, ofCall(member)]),
      ["USD", true, callSaid], ["", false, (row) => row.unpriced || (row.rules || []).join("; ")]], rows, { id: "costs", tall: true, number: true, extract: around })) : null);
}

function callSaid(row) { return row.free ? "0" : row.usd === null ? "?" : spent(row, false); }
