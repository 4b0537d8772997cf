// Imports of files: those of the team with a form to upload one, and one of them from its preview to its outcome.
import { el, money, row as cells, size, table } from "./statement.js";
import { badge } from "./operations.js";
import { asking } from "./exports.js";
import { resolve } from "./fields.js";
import { columnForm } from "./importcolumns.js";
import { put, recordLink, rowList, saying, statuses } from "./importrows.js";
import { announce, busy, description, get, moment, over, post, saveFrom, told, words } from "./service.js";

const style = el("link", { rel: "stylesheet", href: "/console/imports.css" });
await new Promise((done) => {
  style.onload = style.onerror = done;
  document.head.append(style);
});

const page = 25;
const root = "/csv-imports/previews";
const signs = { reading: "◐", ready: "○", failed: "✕", importing: "◐", imported: "✓", undoing: "◐", undone: "↺", canceled: "–" };
const looks = { reading: "running", importing: "running", undoing: "running", imported: "completed", failed: "failed" };
const state = (status) => badge(looks[status] || status, signs[status] || "•", words(status));
const isRunning = (status) => looks[status] === "running";
const time = (text) => el("time", { datetime: text }, moment(text));
const number = (n) => new Intl.NumberFormat().format(n);
const counted = (all) => Object.entries(all).filter(([name, n]) => n && name !== "rows").map(([name, n]) => number(n) + " " + words(name).toLowerCase()).join(", ");
const rowsOf = (n) => (n === 1 ? "1 row" : number(n) + " rows");

let turn = 0, timer = 0; // a turn is a visit of the place: what was asked for in an earlier one is dropped

// choice is a labelled select; options are [value, text].
function choice(id, label, options, attributes = {}) {
  const select = el("select", { id, ...attributes }, options.map(([value, text]) => el("option", { value }, text)));
  return { select, node: el("div", { class: "field" }, el("label", { for: id }, label), select) };
}

// uploadForm asks for a file. Kinds and encodings are those of the description, bank accounts those of the team.
function uploadForm() {
  const kind = choice("import-kind", "What the rows are", [], { onchange: () => settle() });
  const account = choice("import-account", "Bank account", [["", "A column of the file says it"]]);
  const encoding = choice("import-encoding", "Character set of a CSV", [["", "Found out"]]);
  const file = el("input", { id: "import-file", type: "file", accept: ".csv,.tsv,.txt,.xlsx", "aria-describedby": "import-file-hint import-problem", onchange: () => refuse() });
  const problem = el("div", { class: "refusal", id: "import-problem", role: "alert" });
  const drop = el("div", { class: "field drop" }, el("label", { for: "import-file" }, "File"), file,
    el("p", { class: "hint", id: "import-file-hint" }, "CSV or Excel workbook, at most 100 MB. Choose it, or drop it here."));
  const refuse = (...content) => {
    problem.replaceChildren(...content);
    if (content.length) file.setAttribute("aria-invalid", "true");
    else file.removeAttribute("aria-invalid");
  };
  const settle = () => { account.node.hidden = kind.select.value !== "bank-records"; };
  const hover = (on) => (event) => {
    event.preventDefault();
    drop.classList.toggle("over", on);
  };
  drop.addEventListener("dragover", hover(true));
  drop.addEventListener("dragleave", hover(false));
  drop.addEventListener("drop", (event) => {
    hover(false)(event);
    file.files = event.dataTransfer.files;
    refuse();
  });

  const send = async () => {
    if (!file.files.length) {
      refuse(el("p", {}, "Choose a file."));
      return file.focus();
    }
    refuse();
    const form = new FormData();
    form.append("kind", kind.select.value);
    if (!account.node.hidden && account.select.value) form.append("bankAccountId", account.select.value);
    if (encoding.select.value) form.append("encoding", encoding.select.value);
    form.append("file", file.files[0]);
    try {
      location.hash = "#imports/" + (await post(root, form)).operationId;
    } catch (failure) {
      if (!over(failure)) refuse(...told(failure), saying(failure.issues) || "");
    }
  };
  const template = async () => {
    try {
      announce("Downloaded " + (await saveFrom("/csv-imports/templates/" + kind.select.value)));
    } catch (failure) {
      if (!over(failure)) refuse(...told(failure));
    }
  };
  const upload = el("button", { class: "main" }, "Upload");
  const example = el("button", { type: "button", onclick: () => busy(example, template) }, "Download an example file");
  settle();
  fill(kind.select, encoding.select, account.select).then(settle, (failure) => over(failure) || refuse(...told(failure)));
  return el("form", { novalidate: true, "aria-label": "Upload a file", onsubmit: (event) => {
    event.preventDefault();
    busy(upload, send);
  } },
  el("div", { class: "fields" }, kind.node, account.node, drop),
  el("details", {}, el("summary", {}, "Advanced"), el("div", { class: "fields" }, encoding.node)),
  problem, el("div", { class: "buttons" }, upload, example));
}

// fill offers what the service knows. The form is of use without the accounts, which a key may not be allowed to read.
async function fill(kind, encoding, account) {
  const add = (select, values, text) => select.append(...values.map((v) => el("option", { value: v.id ?? v }, text(v))));
  const all = await description();
  const form = resolve(all.paths[root].post.requestBody.content["multipart/form-data"].schema, all).properties;
  add(kind, resolve(form.kind, all).enum, words);
  add(encoding, resolve(form.encoding, all).enum, (v) => v.toUpperCase());
  const accounts = await get("/accounts", { type: "bank", status: "active", limit: 250 }).catch(() => ({ data: [] }));
  add(account, accounts.data, (a) => [a.code, a.name].filter(Boolean).join(" "));
}

const columns = [{ name: "File" }, { name: "Status" }, { name: "Rows" }, { name: "Uploaded" }];

const line = (i) => [
  el("div", {}, el("a", { href: "#imports/" + i.id }, i.filename), el("span", { class: "about" }, words(i.kind))), state(i.status),
  el("div", {}, number(i.counts.rows), el("span", { class: "about" }, counted(i.importedAt ? i.outcomes : i.counts))), time(i.createdAt),
];

// list shows the form and the imports, newest first.
async function list(section) {
  const mine = ++turn;
  const body = el("div", { "aria-busy": "true" }, el("p", { class: "lead" }, "Opening…"));
  section.replaceChildren(el("h1", { id: "imports-title", tabindex: "-1" }, "Imports"),
    el("p", { class: "lead" }, "Bring in spreadsheets and files of your bank. You see what each row means before anything is booked."),
    uploadForm(), el("h2", {}, "Imports so far"), body);
  const load = (at) => get(root, { limit: page, page: at });
  try {
    const found = await load(1);
    if (mine !== turn) return;
    let next = found.pagination.nextPage;
    const all = table("Imports, newest first", columns, found.data.map(line));
    all.classList.add("wide");
    const more = el("button", { type: "button", hidden: !next, onclick: () => busy(more, async () => {
      try {
        const added = await load(next);
        all.querySelector("tbody").append(...added.data.map((i) => cells(columns, line(i))));
        next = added.pagination.nextPage;
        more.hidden = !next;
        announce(added.data.length + " more imports");
      } catch (failure) {
        if (!over(failure)) more.after(el("div", { class: "refusal", role: "alert" }, told(failure)));
      }
    }) }, "Load more");
    body.removeAttribute("aria-busy");
    body.replaceChildren(...(found.data.length ? [all, more] : [el("p", { class: "empty" }, "Nothing was imported yet.")]));
  } catch (failure) {
    if (!over(failure) && mine === turn) body.replaceChildren(...told(failure));
  }
}

// ask shows a question over the page; it answers whether the person says yes.
function ask(section, text, yes) {
  const end = (value) => () => dialog.close(value);
  const dialog = el("dialog", { "aria-label": yes }, el("p", {}, text), el("div", { class: "buttons" },
    el("button", { type: "button", class: "main", onclick: end("yes") }, yes), el("button", { type: "button", onclick: end("") }, "Leave it")));
  section.append(dialog);
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => {
    dialog.remove();
    done(dialog.returnValue === "yes");
  }));
}

// written says how the file was read.
function written(it) {
  const f = it.form;
  const parts = f.type === "xlsx" ? ["Excel workbook", "sheet " + f.sheet] : ["CSV", f.encoding, { ",": "separated by commas", ";": "separated by semicolons", "\t": "separated by tabs" }[f.delimiter] || "separated by " + f.delimiter];
  parts.push(f.headerLine ? "headers in line " + f.headerLine : "no headers");
  if (f.currency) parts.push("amounts in " + f.currency.toUpperCase());
  if (f.negated) parts.push("money in is below zero");
  if (f.balancesProve) parts.push("the balances prove the amounts");
  return el("p", { class: "about" }, parts.join(" · "));
}

// summary counts the rows and adds up their amounts, by status; contacts and listings have no amounts.
function summary(it) {
  const amounts = (it.totals || []).filter((t) => t.amount);
  const sums = (status) => {
    const all = new Map();
    for (const t of amounts) if (t.status === status) all.set(t.currency, (all.get(t.currency) || 0) + t.amount);
    return el("div", {}, [...all].map(([currency, amount]) => el("div", {}, money(amount, currency))));
  };
  const width = amounts.length ? 3 : 2;
  const rows = statuses.filter(([, name]) => it.counts[name]).map(([status, name, text]) => [text, number(it.counts[name]), sums(status)]);
  return table("Rows by status", [{ name: "Rows" }, { name: "Number", amount: true }, { name: "Sum", amount: true }].slice(0, width),
    rows.map((cells) => cells.slice(0, width)), ["All", number(it.counts.rows), ""].slice(0, width));
}

const outcomes = ["created", "updated", "unchanged", "skipped", "failed", "undone"];

// outcome says what became of the rows, and offers the file of it.
function outcome(it) {
  if (!outcomes.some((name) => it.outcomes[name])) return null;
  const { buttons, outcome: place } = asking(() => ({ path: root + "/{importId}/rows/csv", label: "Result of " + it.filename, selection: { importId: it.id } }),
    { now: "Result as CSV", later: "Result in background", quiet: true });
  return el("div", {}, el("h2", {}, "Outcome"), el("dl", { class: "headline" }, outcomes.filter((name) => it.outcomes[name]).map((name) =>
    el("div", {}, el("dt", {}, words(name)), el("dd", {}, number(it.outcomes[name]))))), buttons, place);
}

// why says what keeps a record from being taken back.
const why = (d) => words(d.reason) + [d.context?.lockReasons || [], d.context?.field || []].flat().map((name, i) => (i ? ", " : ": ") + words(name).toLowerCase()).join("");

// dependents lists what keeps the import from being undone.
function dependents(it) {
  if (!it.dependents.length) return null;
  return el("div", { class: "problem dependents", role: "alert" }, el("p", {}, "Nothing was undone, because something depends on these records:"),
    el("ul", { class: "issues" }, it.dependents.slice(0, 50).map((d) => el("li", {}, recordLink(it, d.entityId, "Line " + d.line), ": " + why(d)))),
    it.dependents.length > 50 ? el("p", {}, "… and " + (it.dependents.length - 50) + " more") : null);
}

const left = (it) => it.counts.rows - it.counts.parts - outcomes.reduce((sum, name) => sum + it.outcomes[name], 0);

// confirmForm asks how the rows are imported; wanted keeps what is chosen while rows are corrected.
function confirmForm(it, wanted, start) {
  if (it.status !== "ready" && !(it.status === "imported" && left(it) > 0)) return null;
  const open = it.counts.faulty + it.counts.questions;
  const box = (name, text, hint) => {
    const input = el("input", { type: "checkbox", id: "import-" + name, "aria-describedby": hint && "import-" + name + "-hint", onchange: () => { wanted[name] = input.checked; } });
    input.checked = Boolean(wanted[name]);
    return el("div", { class: "option" }, el("div", { class: "choice" }, input, el("label", { for: input.id }, text)), hint ? el("p", { class: "hint", id: input.id + "-hint" }, hint) : null);
  };
  const known = choice("import-known", "Rows that are here already", [["", "Leave them as they are"], ["replace", "Write them over what is here"], ["keep", "Book them again"]],
    { onchange: () => { wanted.duplicateOverride = known.select.value; } });
  known.select.value = wanted.duplicateOverride || "";
  const button = el("button", { class: "main" }, it.importedAt ? "Import the rest" : it.counts.valid ? "Import " + rowsOf(it.counts.valid) : "Import");
  return el("form", { "aria-label": "Import", onsubmit: (event) => {
    event.preventDefault();
    busy(button, start);
  } },
  el("h2", {}, "Import"),
  it.priorImportId ? el("div", { class: "fields" }, known.node) : null,
  open ? box("acceptIssues", "Leave out " + rowsOf(open) + " that " + (open === 1 ? "is" : "are") + " faulty or to be decided", "They can be corrected and imported later. Rows that you have decided on are taken as decided.") : null,
  it.counts.rows <= 10000 ? box("allOrNothing", "All or nothing: import no row if one is refused") : null,
  el("div", { class: "buttons" }, button));
}

// one shows an import. What is shown stays until it was read anew; while the service works on it, it is looked at every few seconds.
async function one(section, id) {
  const mine = ++turn;
  const path = root + "/" + encodeURIComponent(id);
  const title = el("h1", { id: "imports-title", tabindex: "-1" }, "Import");
  const about = el("div", {}, el("p", { class: "lead" }, "Opening…"));
  const problem = el("div", { class: "refusal", role: "alert" });
  const actions = el("div", { class: "buttons" }), going = el("div", { class: "going" });
  const alert = () => el("div", { class: "refusal", role: "alert" });
  const refused = { columns: alert(), confirm: alert() };
  const places = { outcome: el("div", {}), summary: el("div", {}), columns: el("div", {}), rows: el("div", {}), confirm: el("div", {}) };
  section.replaceChildren(el("p", { class: "back" }, el("a", { href: "#imports" }, "‹ Imports")), title, about, el("div", { class: "buttons actions" }, actions, going), problem,
    places.outcome, places.summary, places.columns, refused.columns, places.rows, places.confirm, refused.confirm);
  let it = null, rows = null, wait = 300, isStale = false, begun = null; // begun is the operation that goes on
  const wanted = {};
  const isHere = () => mine === turn;
  const fail = (failure, at = problem) => { if (!over(failure) && isHere()) at.replaceChildren(...told(failure), saying(failure.issues) || ""); };

  // act asks the service for something, and looks what comes of it. A refusal is shown where it was asked for.
  const act = async (work, at) => {
    for (const place of [problem, refused.columns, refused.confirm]) place.replaceChildren();
    try {
      begun = (await work())?.operationId;
      isStale = true; // short work is over before it was seen
      wait = 300;
      await look();
    } catch (failure) {
      fail(failure, at);
    }
  };
  const start = () => act(() => post(path + "/confirm", Object.fromEntries(Object.entries(wanted).filter(([, v]) => v))), refused.confirm);
  const undo = async () => {
    const n = it.outcomes.created + it.outcomes.updated;
    if (await ask(section, "Undo this import? Records that it has made are deleted and those that it has changed get their former values: " + rowsOf(n) + ".", "Undo the import")) {
      await act(() => post(path + "/undo", {}));
    }
  };
  const cancel = async () => {
    if (it.status !== "ready" || await ask(section, "Discard this preview? Nothing is imported.", "Discard the preview")) await act(() => post(path + "/cancel", {}));
  };
  const again = (mapping) => act(async () => { location.hash = "#imports/" + (await put(path, mapping)).operationId; }, refused.columns);

  // counts shows what changes with each row.
  const counts = () => {
    places.outcome.replaceChildren(...(isRunning(it.status) ? [] : [dependents(it), outcome(it)].filter(Boolean)));
    places.summary.replaceChildren(...(it.counts.rows ? [el("h2", {}, "Rows"), summary(it)] : []));
    places.confirm.replaceChildren(...[confirmForm(it, wanted, start)].filter(Boolean));
    rows?.counts(it);
  };
  const corrected = async () => {
    it = await get(path);
    if (isHere()) counts();
  };

  // show waits for the first rows, so that nothing moves when they come.
  const show = async () => {
    rows = it.counts.rows && !isRunning(it.status) ? rowList(path, it, corrected) : null;
    await rows?.ready;
    if (!isHere()) return;
    title.textContent = it.filename;
    document.title = it.filename + " – stayledger";
    const button = (name, work) => { const b = el("button", { type: "button", onclick: () => busy(b, work) }, name); return b; };
    const files = saying(it.issues);
    about.replaceChildren(el("p", { class: "so" }, state(it.status), el("span", { class: "sign" }, words(it.kind) + " · " + size(it.byteSize) + " · ", time(it.createdAt))), it.form ? written(it) : "",
      it.priorImportId ? el("p", { class: "note" }, "This very file was imported before: ", el("a", { href: "#imports/" + it.priorImportId }, "see that import"), ".") : "",
      files ? el("div", { class: it.status === "failed" || it.columns.some((c) => c.isUnclear) ? "problem" : "note" }, files) : "");
    actions.replaceChildren(...[
      isRunning(it.status) && it.status !== "undoing" ? button("Cancel", cancel) : null, it.status === "ready" ? button("Discard", cancel) : null,
      it.status === "imported" && it.outcomes.created + it.outcomes.updated > 0 ? button("Undo", undo) : null,
    ].filter(Boolean));
    going.replaceChildren();
    const canMap = it.form && it.columns.length && (it.status === "ready" || it.status === "failed");
    places.columns.replaceChildren(...(canMap ? [columnForm(it, again)] : []));
    places.rows.replaceChildren(...(rows ? [rows.node] : []));
    counts();
  };

  // progress shows how far the operation is.
  const bar = el("progress", { "aria-label": "Progress" }), so = el("span", { class: "about" });
  const progress = async () => {
    if (!bar.isConnected) going.replaceChildren(bar, so);
    begun = { reading: it.id, undoing: it.undoOperationId }[it.status] || it.importOperationId;
    const p = await get("/operations/" + begun + "/progress");
    if (p.total) [bar.max, bar.value] = [p.total, p.done];
    so.textContent = p.total ? number(p.done) + " of " + number(p.total) : words(it.status) + "…";
  };

  // look reads the import, and again while something goes on.
  const look = async () => {
    clearTimeout(timer);
    try {
      const now = await get(path);
      if (!isHere()) return;
      const isFirst = !it;
      const isNew = isStale || it?.status !== now.status;
      it = now;
      isStale = false;
      if (isNew) {
        const isLost = places.confirm.contains(document.activeElement) || actions.contains(document.activeElement);
        await show();
        if (!isHere()) return;
        if (isLost) title.focus({ preventScroll: true });
        if (!isFirst || !isRunning(now.status)) announce(now.filename + ": " + words(now.status));
      }
      if (isRunning(now.status)) await progress();
      else if (begun) await ended();
    } catch (failure) {
      fail(failure);
      wait = Math.max(wait, failure.wait * 1000 || 2000);
    }
    wait = Math.min(wait * 1.5, 5000);
    if (isHere() && (!it || isRunning(it.status))) timer = setTimeout(look, document.hidden ? 15000 : wait);
  };

  // ended tells how the operation failed, if it did and the import does not say why.
  const ended = async () => {
    const o = await get("/operations/" + begun);
    begun = null;
    if (o.status === "failed" && o.failure && it.status !== "failed" && !it.dependents.length && isHere()) {
      problem.replaceChildren(el("p", {}, o.failure.message.replace(/\.?$/, ".")), el("p", { class: "about" }, o.failure.code));
    }
  };
  await look();
}

export const imports = {
  title: "Imports",
  enter(section, id) {
    clearTimeout(timer);
    return id ? one(section, id) : list(section);
  },
  leave() {
    turn++;
    clearTimeout(timer);
  },
  reset() {
    turn++;
    clearTimeout(timer);
    document.getElementById("imports").replaceChildren();
  },
};
