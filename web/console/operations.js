// The operations of the team, kept current: what was started, how far it is, what came of it.
import { el, row as cells, size, table } from "./statement.js";
import { resolve } from "./fields.js";
import { announce, busy, description, get, moment, over, save, session, told, words } from "./service.js";

const page = 25;
const quick = 2000, slow = 15000, slowest = 60000; // milliseconds between looks: while something goes on, when nothing does, when it fails
const atOnce = 5; // requests for single operations in one look

const signs = { queued: "○", running: "◐", completed: "✓", failed: "✕" };
const names = { queued: "Queued", running: "Running", completed: "Completed", failed: "Failed" };
const unsettled = (status) => status === "queued" || status === "running";

const number = (n) => new Intl.NumberFormat().format(n);

export function badge(status, sign, text) {
  return el("span", { class: "state", "data-state": status }, el("span", { class: "sign", "aria-hidden": "true" }, sign), text);
}

const columns = [{ name: "Operation" }, { name: "Status" }, { name: "Started" }, { name: "Result" }];

let section, list, empty, live, counts, more, filters;
let rows = new Map(); // by id, in the order shown: newest first
let files = new Map(); // by operation: what a completed one made; it never changes
let labels = new Map(); // by operation: what was asked for here
let cursor = null, timer = 0, wait = quick, failures = 0, active = false, looking = 0, rest = 0; // rest is until when the service wants to be left alone

function build() {
  const choose = (id, label) => el("div", { class: "field" }, el("label", { for: id }, label), el("select", { id, onchange: refilter }, el("option", { value: "" }, "All")));
  filters = el("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
    choose("operation-status", "Status"), choose("operation-type", "Type"));
  live = el("div", { class: "live" });
  counts = el("p", { class: "counts" });
  const all = table("Operations, newest first", columns, []);
  all.classList.add("wide", "operations");
  list = all.querySelector("tbody");
  empty = el("p", { class: "empty", hidden: true });
  more = el("button", { type: "button", hidden: true, onclick: () => busy(more, loadMore) }, "Load more");
  section.replaceChildren(
    el("div", { class: "head" }, el("h1", { id: "operations-title", tabindex: "-1" }, "Operations"), live),
    filters, counts,
    el("div", { id: "operations-list", hidden: true }, all), empty, more);
  describe();
}

// describe fills the filters with what the service knows.
async function describe() {
  try {
    const all = await description();
    const parameters = all.paths["/operations"].get.parameters.map((p) => resolve(p, all));
    for (const [name, write] of [["status", (v) => names[v] || v], ["type", words]]) {
      const values = resolve(parameters.find((p) => p.name === name && p.in === "query").schema, all).enum;
      filters.querySelector("#operation-" + name).append(...values.map((value) => el("option", { value }, write(value))));
    }
  } catch {
    // The list is of use without its filters.
  }
}

const chosen = (name) => filters.querySelector("#operation-" + name).value;

function selection() {
  const out = {};
  for (const name of ["status", "type"]) if (chosen(name)) out[name] = chosen(name);
  return out;
}

function refilter() {
  clear();
  look();
}

function clear() {
  rows = new Map();
  cursor = null;
  list.replaceChildren();
  more.hidden = true;
}

function schedule() {
  clearTimeout(timer);
  timer = 0;
  if (active && !document.hidden) timer = setTimeout(look, wait);
}

// look reads what is new. A look that was overtaken by other filters is dropped.
async function look() {
  clearTimeout(timer);
  if (Date.now() < rest) {
    wait = rest - Date.now();
    return schedule();
  }
  const turn = ++looking;
  try {
    const found = await get("/operations", { ...selection(), limit: page });
    if (turn !== looking) return;
    merge(found);
    await Promise.all([older(found.items), progress()]);
    failures = 0;
    wait = [...rows.values()].some((r) => unsettled(r.operation.status)) ? quick : Math.min(slow, wait * 1.5);
    write(live, "● Live");
  } catch (failure) {
    if (over(failure) || turn !== looking) return;
    failures++;
    const asked = failure.wait * 1000 || 0;
    rest = Date.now() + asked;
    wait = Math.max(Math.min(slowest, quick * 2 ** failures), asked);
    live.replaceChildren(...told(failure));
    if (failures === 1) announce("The list of operations could not be brought up to date.");
  }
  if (turn === looking) schedule();
}

// merge takes a new first page in. Rows that are on it move or change, those that should be on it and are not go, those after it stay.
function merge(found) {
  const last = found.nextCursor && found.items.at(-1).id;
  const known = found.items.some((o) => rows.has(o.id));
  if (rows.size && last && !known) clear(); // more has happened than a page holds: what is between is not known
  if (!rows.size) cursor = found.nextCursor;
  const seen = new Set(found.items.map((o) => o.id));
  for (const id of [...rows.keys()]) if (!seen.has(id) && (!last || id > last)) drop(id);
  let next = list.firstChild;
  for (const operation of found.items) {
    const row = put(operation);
    if (row.node === next) next = next.nextSibling;
    else list.insertBefore(row.node, next);
  }
  foot(found);
}

function foot(found) {
  const c = found.counts;
  const parts = ["queued", "running", "completed", "failed"].filter((s) => c[s]).map((s) => number(c[s]) + " " + names[s].toLowerCase());
  write(counts, parts.join(", "));
  document.getElementById("operations-list").hidden = rows.size === 0;
  empty.hidden = rows.size > 0;
  if (!rows.size) {
    write(empty, Object.keys(selection()).length ? "No operation matches these filters." : "Nothing has been started yet. Exports that run in the background show here.");
  }
  more.hidden = !cursor;
}

function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function drop(id) {
  rows.get(id).node.remove();
  rows.delete(id);
}

// put shows an operation: in a new row, or in its row where something has changed.
function put(operation) {
  const row = rows.get(operation.id) || blank(operation);
  const before = row.operation?.status;
  rows.set(operation.id, row);
  row.operation = operation;
  if (before !== operation.status) {
    row.state.replaceChildren(badge(operation.status, signs[operation.status] || "•", names[operation.status] || operation.status));
    outcome(row);
    if (before) announce(words(operation.type) + ": " + (names[operation.status] || operation.status));
  }
  write(row.label, labels.get(operation.id) || "");
  const took = operation.finishedAt && operation.startedAt && duration(new Date(operation.finishedAt) - new Date(operation.startedAt));
  write(row.took, took ? "took " + took : "");
  return row;
}

function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return seconds + " s";
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? minutes + " min " + (seconds % 60) + " s" : Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
}

function blank(o) {
  const about = () => el("span", { class: "about" });
  const row = { label: about(), state: el("span", {}), took: about(), result: el("div", { class: "product" }) };
  row.node = cells(columns, [
    el("div", {}, words(o.type), row.label), row.state, el("div", {}, el("time", { datetime: o.createdAt }, moment(o.createdAt)), row.took), row.result,
  ]);
  return row;
}

// outcome empties or fills the result of a row whose status has changed.
function outcome(row) {
  const o = row.operation;
  row.bar = row.note = null;
  row.result.replaceChildren();
  if (o.status === "failed") {
    const failure = o.failure || { code: "", message: "Operation failed" };
    row.result.append(el("p", {}, failure.message.replace(/\.?$/, ".")), el("p", { class: "about" }, [failure.code, "operation " + o.id].filter(Boolean).join(" · ")));
  }
  if (o.status === "completed") made(row);
}

// progress asks how far running operations are.
async function progress() {
  const running = [...rows.values()].filter((r) => r.operation.status === "running").slice(0, atOnce);
  await Promise.all(running.map(async (row) => {
    const p = await get("/operations/" + row.operation.id + "/progress");
    if (p.total === null || row.operation.status !== "running") return;
    if (!row.bar) {
      row.bar = el("progress", { "aria-label": "Progress of " + words(row.operation.type) });
      row.note = el("span", { class: "about" });
      row.result.replaceChildren(row.bar, row.note);
    }
    row.bar.max = Math.max(1, p.total);
    row.bar.value = p.done;
    write(row.note, number(p.done) + " of " + number(p.total));
  }));
}

// older looks at operations that go on below the first page.
async function older(first) {
  const on = new Set(first.map((o) => o.id));
  const open = [...rows.values()].filter((r) => !on.has(r.operation.id) && unsettled(r.operation.status)).slice(0, atOnce);
  await Promise.all(open.map(async (row) => {
    const o = await get("/operations/" + row.operation.id);
    if (!rows.has(o.id)) return;
    if (chosen("status") && o.status !== chosen("status")) drop(o.id);
    else put(o);
  }));
}

async function loadMore() {
  const at = rows;
  try {
    const found = await get("/operations", { ...selection(), limit: page, cursor });
    if (rows !== at) return; // other filters by now
    const first = found.items.find((o) => !rows.has(o.id));
    for (const operation of found.items) if (!rows.has(operation.id)) list.append(put(operation).node);
    cursor = found.nextCursor;
    more.hidden = !cursor;
    announce(number(found.items.length) + " more operations");
    if (!cursor && first) {
      const row = rows.get(first.id).node; // the button that had the focus is gone
      row.tabIndex = -1;
      row.focus();
    }
  } catch (failure) {
    if (!over(failure)) live.replaceChildren(...told(failure));
  }
}

// made shows the files of a completed operation. Operations are asked for one after another, from the top.
let asked = Promise.resolve();

function made(row) {
  const id = row.operation.id;
  if (files.has(id)) return offer(row, files.get(id));
  asked = asked.then(async () => {
    if (rows.get(id) !== row) return;
    try {
      files.set(id, await results(id));
      offer(row, files.get(id));
    } catch (failure) {
      if (!over(failure)) row.result.replaceChildren(...told(failure));
    }
  });
}

async function results(id) {
  const detail = await get("/operations/" + id);
  const results = detail.resources.filter((r) => r.type === "file" && r.role === "result");
  return Promise.all(results.map(async (r) => {
    try {
      return await get("/files/" + r.id);
    } catch (failure) {
      if (over(failure) || failure.code === "OFFLINE") throw failure;
      return { id: r.id, filename: "File" }; // a key that may not read files learns that when it tries
    }
  }));
}

function offer(row, found) {
  row.result.replaceChildren(...found.map((file) => {
    const problem = el("div", { class: "refusal", role: "alert" });
    const gone = file.purgeAt && new Date(file.purgeAt) < new Date();
    const name = file.filename + (file.byteSize === undefined ? "" : " (" + size(file.byteSize) + ")");
    if (gone) return el("p", { class: "about" }, file.filename + " is no longer kept");
    const button = el("button", { type: "button", class: "file", onclick: () => busy(button, () => download(file, problem)) },
      el("span", { "aria-hidden": "true" }, "↓ "), el("span", { class: "unseen" }, "Download "), name);
    return el("div", {}, button, problem);
  }));
}

async function download(file, problem) {
  problem.replaceChildren();
  try {
    announce("Downloaded " + (await save(file.id)));
  } catch (failure) {
    if (over(failure)) return;
    problem.replaceChildren(...(failure.status === 410 ? [el("p", {}, "The file is no longer kept.")] : told(failure)));
  }
}

// started remembers what was asked for here, and looks soon.
export function started(id, label) {
  labels.set(id, label);
  wait = quick;
  if (active) look();
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (!active || document.hidden || !session.key) return;
  wait = quick;
  look();
});

export const operations = {
  title: "Operations",
  enter(where) {
    if (!where.firstChild) {
      section = where;
      build();
    }
    active = true;
    wait = quick;
    look();
  },
  leave() {
    active = false;
    looking++;
    clearTimeout(timer);
  },
  reset() {
    [rows, files, labels] = [new Map(), new Map(), new Map()];
    [cursor, failures, rest] = [null, 0, 0];
    if (list) clear();
    if (counts) counts.textContent = empty.textContent = live.textContent = "";
  },
};
