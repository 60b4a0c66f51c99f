/* One request: what it was, its icicle, its fields, its way to bytes, its blocks. */

function drawRequest() {
  const request = byNumber.request.get(chosenNumber());
  at("which").textContent = request ? `#${request.n}, ${state.place + 1} of ${chosenThread().requests.length}` : "none";
  if (!request) return show("request", note("no request was recorded"));
  const step = byNumber.step.get(request.n);
  const heading = note(`#${request.n}, ${moment(request.time)} UTC, ${request.route || "?"}, ${request.model || "model unknown"}${request.model_requested && request.model_requested !== request.model ? ` (asked for ${request.model_requested})` : ""}, ${request.ended}${request.error ? ` ${request.error}` : ""}${step ? `, ${step.step}` : ""}`);
  if (!request.fields) return show("request", heading, note(countersOf(request)), note(`no sizes: ${request.reason || "no body"}`));
  const detail = el("p", { class: "detail", "aria-live": "polite" });
  const holder = icicleOf(request, detail);
  const kinds = new Set(request.fields.flatMap((field) => blocksOf(told, field).flatMap((block) => block.rows.flatMap((row) => row.parts.map((part) => part.kind)))));
  const tokens = state.unit === "tokens" ? note(told.tokens_unknown || "Tokens are estimates of the texts in blocks, ≥ where some cannot be told: these have no width. What the API adds around them (frames, its prompt for tools) is in no block.") : null;
  show("request", heading, note(countersOf(request)), el("p", { class: request.closes === false ? "bad" : null, id: "total" }, `${count(request.chars)} characters in ${times(request.fields.length, "field")}`), tokens, holder,
    legend([...told.kinds.filter(({ kind }) => kinds.has(kind) || kind === "structure").map(({ kind, words }) => [`k-${kind}`, words])]), detail,
    el("div", { class: "side" }, fieldTable(request), ledgerTable(request)), figures("request", "Every block of this request", () => blockTable(request)));
}

/* The counters of the answer, or that there are none. */
function countersOf(request) {
  const names = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
  if (names.every((name) => request[name] === null || request[name] === undefined)) return "tokens not known: no counters were recorded with the answer";
  const [input, write, read, output] = names.map((name) => count(request[name]));
  return `input ${count(request.total_input_tokens)} = ${input} in + ${write} cache write + ${read} cache read; output ${output} tokens`;
}

/* The icicle; what is looked at closely stays so from request to request, as long as it is there. */
function icicleOf(request, detail) {
  const root = treeOf(told, request, state.unit);
  if (!nodeAt(root, state.path)) state.path = [];
  const drawn = (holder, wide) => {
    const walked = holder.contains(document.activeElement);
    holder.replaceChildren(icicle(root, state.unit, detail, state.path, looked, wide));
    if (walked) holder.querySelector("[tabindex='0']").focus();
  };
  const holder = fitting({ id: "icicle" }, drawn);
  function looked(path) { state.path = path; drawn(holder, holder.wide); holder.querySelector("[tabindex='0']").focus(); }
  return holder;
}

function fieldTable(request) {
  return table("Fields, largest first", [["field", false, (row) => row.name || "(body)"], ["characters", true, (row) => count(row.chars)], ["share", true, (row) => percent(row.share)],
    ["structure", true, (row) => count(row.structure)], ["unexplained", true, (row) => count(row.unexplained)], ["tokens, est.", true, (row) => bound(row.tokens, row.at_least)]],
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
    ["what", false, (row) => row.what || row.type], ["tokens (estimated)", true, (row) => bound(row.tokens, row.at_least)], ["", false, (row) => row.reason || ""]], rows, { id: "blocks", tall: true, extract: largest });
}
