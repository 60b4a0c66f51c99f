/* The page: what is chosen, and what is drawn anew then. The sections are in the other files; nothing adds figures up. */

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

/* Choosing */

function goTo(place) {
  const last = Math.max(chosenThread().requests.length - 1, 0);
  state.place = Math.min(Math.max(place, 0), last);
  at("slider").max = String(last);
  at("slider").value = String(state.place);
  at("slider").setAttribute("aria-valuetext", chosenNumber() === undefined ? "none" : `request #${chosenNumber()}, ${state.place + 1} of ${last + 1}`);
  /* Not disabled: what is disabled loses the focus. */
  at("before").setAttribute("aria-disabled", String(state.place === 0));
  at("after").setAttribute("aria-disabled", String(state.place === last));
  drawRequest();
  lookAt(chosenNumber());
}

function choose(thread, place) {
  state.thread = Math.min(Math.max(thread, 0), Math.max(told.threads.length - 1, 0));
  at("thread").value = String(state.thread);
  drawGrowth(); drawCache(); drawCost(); drawTools();
  goTo(place);
}

/* To a thread from further down. */
function leap(thread) {
  state.path = [];
  choose(thread, Infinity);
  at("request").scrollIntoView();
  at("thread").focus({ preventScroll: true });
}

function threadOptions() {
  const groups = new Map();
  told.threads.forEach((thread, index) => {
    const session = told.sessions[thread.session], name = session ? session.session || "?" : "no session";
    if (!groups.has(thread.session)) groups.set(thread.session, el("optgroup", { label: name }));
    groups.get(thread.session).append(el("option", { value: String(index) }, `${name.length > 16 ? `${name.slice(0, 13)}…` : name}: ${thread.label} (${thread.requests.length})`));
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
  new ResizeObserver(fitAll).observe(document.querySelector("main"));
  printing();
  if (document.documentElement.dataset.live === "true") follow();
}

/* A newer document: the same thread and request are looked at, and the newest request is followed by the next. */
function taken(newer) {
  const old = chosenThread(), name = (told.sessions[old.session] || {}).session, followed = state.place >= old.requests.length - 1, walked = at("icicle") && at("icicle").contains(document.activeElement);
  told = newer;
  drawn();
  const alike = (thread) => thread.label === old.label && (told.sessions[thread.session] || {}).session === name;
  let same = told.threads.findIndex((thread) => alike(thread) && thread.requests[0] === old.requests[0]);
  if (same < 0) same = told.threads.findIndex(alike);
  choose(same < 0 ? 0 : same, followed ? Infinity : state.place);
  if (walked) at("icicle").querySelector("[tabindex='0']").focus();
}

/* A live page asks its own server for what is new, less often where it does not answer, and says so then. */
async function follow() {
  let tag = null, wait = 1000;
  for (;;) {
    await new Promise((done) => setTimeout(done, wait));
    try {
      const answer = await fetch("report.json", { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {}, signal: AbortSignal.timeout(120000) });
      if (answer.status !== 200 && answer.status !== 304) throw new Error(answer.statusText);
      const newer = answer.status === 200 ? await answer.json() : told;
      tag = answer.headers.get("ETag") || tag;
      wait = 1000;
      goneSince(null);
      if (newer.made !== told.made) taken(newer);
    } catch { wait = Math.min(wait * 2, 30000); goneSince(told.made); }
  }
}

/* Whether the server is gone, and from when is what is shown then. */
function goneSince(made) {
  const words = made ? `The server is gone; what is shown is from ${made.slice(11, 19)} UTC.` : "";
  if (at("gone").textContent !== words) at("gone").textContent = words;
  at("gone").hidden = !made;
}

begin();
