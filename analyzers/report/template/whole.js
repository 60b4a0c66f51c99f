/* What is not of one thread: tools, personal data, sessions with their threads, what could not be used. */

function drawTools() {
  const found = told.tools.find((one) => one.session === chosenThread().session), rows = found ? found.tools : [];
  if (!rows.length) return show("tools", note("No tool was defined or called in this session."));
  const most = Math.max(1, ...rows.map((row) => row.chars || 0)), open = found.answers_unknown;
  const bar = (row) => svg("svg", { viewBox: "0 0 160 10", class: "bar", "aria-hidden": "true", width: 160, height: 10 }, svg("rect", { class: row.used ? "k-tool" : "k-structure", width: 160 * (row.chars || 0) / most, height: 10 }));
  show("tools", table(`Tools of this session, largest first; pale: ${open ? "no call seen" : "never called"}`, [["tool", false, (row) => row.name], ["characters", true, (row) => count(row.chars)], ["", false, bar], ["of it name and description", true, (row) => count(row.description_chars)], ["requests", true, (row) => count(row.requests)],
    ["calls", true, (row) => open && !row.calls ? "?" : bound(row.calls, open > 0)], ["used", false, (row) => row.used ? "yes" : open ? "?" : "never"], ["", false, (row) => row.chars === null ? "called, not defined" : row.deferred ? "deferred" : ""]], rows, { id: "tool-rows" }),
  open ? note(`${times(open, "answer")} of this session ${open === 1 ? "was" : "were"} not recorded, or not to the end: more may have been called in ${open === 1 ? "it" : "them"}`) : null);
}

function drawPersonal() {
  const found = told.personal;
  if (!found) return show("personal", note("Not looked for."));
  const left = found.not_looked_into;
  const few = 30, columns = [["kind", false, (row) => row.kind], ["place", false, (row) => row.where], ["values", true, (row) => row.folded_values ? `${count(row.values)} + ${count(row.folded_values)} folded` : count(row.values)], ["characters", true, (row) => count(row.chars)],
    ["requests", true, (row) => count(row.requests)], ["first in", true, (row) => `#${row.first_request}`]];
  show("personal", found.places.length ? table("What was found, and where; never the values", columns, found.places.slice(0, few), { id: "places" }) : note("Nothing of what is looked for was found in what was kept."),
  found.places.length > few ? figures("personal", `All ${count(found.places.length)} places`, () => table("All places", columns, found.places, { id: "all-places", tall: true, extract: () => [] })) : null,
  found.more_places ? note(`${count(found.more_places)} more places: weighbridge privacy --all shows each`) : null,
  found.not_known.strings ? note(`not known: ${times(found.not_known.strings, "folded string")} (${count(found.not_known.chars)} characters) were not looked through when they were recorded, and that is no sign that they were clean`) : null,
  found.without_body ? note(`not known: ${times(found.without_body, "request")} without a body that was recorded`) : null,
  found.without_answer ? note(`not known: ${times(found.without_answer, "answer")} not recorded`) : null,
  left.undecoded || left.too_deep || left.over_limit ? note(`not looked into: ${count(left.undecoded)} encoded stretches that are no text (${count(left.undecoded_chars)} characters); texts too deep inside others: ${count(left.too_deep)}, over the limit: ${count(left.over_limit)}`) : null,
  found.masked_credentials ? note(`credentials masked when they were recorded: ${count(found.masked_credentials)}`) : null);
}

const TOKENS = [["input", "input_tokens"], ["cache write", "cache_creation_input_tokens"], ["cache read", "cache_read_input_tokens"], ["total input", "total_input_tokens"], ["output", "output_tokens"]]
  .map(([name, member]) => [name, true, (row) => bound(row.usage[member], row.usage.at_least.includes(member))]);

function drawSessions() {
  const models = told.usage.models.map((row) => ({ name: row.model || "?", usage: row, calls: row.requests }));
  const sum = { name: "total", usage: told.usage.totals, calls: told.usage.totals.requests, sum: true };
  show("sessions", table("Sessions", [["session", false, (row) => named(row.session || "?")], ["first (UTC)", false, (row) => named(moment(row.first))], ["calls", true, (row) => count(row.calls)], ["threads", true, (row) => count(row.threads.length)], ["starts", false, (row) => row.warm_start === null ? "?" : row.warm_start ? "warm" : "cold"], ["failed attempts", true, (row) => count(row.failed_attempts)], ["side calls", true, (row) => count(row.side_calls.length)], ...TOKENS], told.sessions, { id: "session-rows" }),
    threadTable(), table("Tokens by model, each call counted once: turns of threads and side calls", [["model", false, (row) => row.name], ["calls", true, (row) => count(row.calls)], ...TOKENS], [...models, sum], { id: "usage", mark: (row) => row.sum ? "sum" : null }));
}

/* The threads of all sessions; each is chosen by its name. */
function threadTable() {
  const rows = told.threads.map((one, index) => ({ ...one, index })).filter((one) => one.thread).map((one) => ({ ...one, ...one.thread }));
  if (!rows.length) return null;
  const sessionOf = (row) => { const session = told.sessions[row.session]; return session && session.session || "?"; };
  const chosen = (row) => el("button", { type: "button", class: "link", "data-thread": String(row.index), "aria-label": `${row.label} of session ${sessionOf(row)}: show it`, title: row.label, onclick: () => leap(row.index) }, named(row.label.replace(/^(agent [0-9a-f]{8})[0-9a-f]+/, "$1")));
  return table("Threads: choose one by its name", [["thread", false, chosen], ["session", false, (row) => shortly(sessionOf(row))], ["starts (UTC)", false, (row) => named(moment(row.first))], ["begins as", false, (row) => named(beginsAs(row))], ["turns", true, (row) => count(row.turns)], ["messages", false, (row) => named(row.messages)],
    ["failed attempts", true, (row) => count(row.failed_attempts)], ["compacted at", false, (row) => row.compacted.map((n) => `#${n}`).join(" ")], ["other steps", false, stepsOf], ["total input", true, TOKENS[3][2]], ["output", true, TOKENS[4][2]]], rows, { id: "thread-rows" });
}

/* Ids of sessions by their beginning, as the commands have them; other names whole. */
function shortly(name) { return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(name) ? el("span", { class: "id", title: name }, name.slice(0, 8)) : named(name); }

function beginsAs(row) {
  const after = row.forked_from !== null ? row.forked_from : row.follows;
  return `${row.step}${after === null ? "" : ` at #${after}`}${row.session_from ? ` of ${row.session_from.slice(0, 8)}` : ""}`;
}

function stepsOf(row) {
  const few = 6, steps = row.other_steps.map(({ n, step }) => `#${n} ${step}`);
  return [...steps.slice(0, few), steps.length > few ? `${steps.length - few} more` : "", row.partial.length ? `#${row.partial[0]} partial` : "", row.agent === null && !row.current ? "not the current path" : ""].filter(Boolean).join(", ");
}

function drawProblems() {
  show("problems", told.problems.length ? el("ul", {}, ...told.problems.map((text) => el("li", {}, text))) : note("Nothing: every file and every line was used."));
  at("about").textContent = `requests: ${count(told.requests.length)}, sessions: ${count(told.sessions.length)}; made ${moment(told.made)} UTC by weighbridge ${told.version}`;
}
