// The rows of an import by status: faulty ones are corrected in place, questions are decided.
import { el, row as cells, table } from "./statement.js";
import { badge } from "./operations.js";
import { announce, busy, get, over, read as decode, send, told, words } from "./service.js";

const page = 25;
const signs = { valid: "✓", faulty: "✕", duplicate: "=", question: "?", ignored: "–", part: "↳", created: "✓", updated: "✓", unchanged: "=", skipped: "–", failed: "✕", undone: "↺" };
const looks = { faulty: "failed", failed: "failed", valid: "completed", created: "completed", updated: "completed" };
const state = (status, text) => badge(looks[status] || status, signs[status] || "•", text || words(status));
const number = (n) => new Intl.NumberFormat().format(n);

export const put = async (path, body) => decode(await send(path, { method: "PUT", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }));

// statuses are those of rows: as the API names them, as its counts do, as people do.
export const statuses = [
  ["valid", "valid", "Valid"], ["faulty", "faulty", "Faulty"], ["question", "questions", "To decide"],
  ["duplicate", "duplicates", "Here already"], ["ignored", "ignored", "Not read"], ["part", "parts", "More lines of a record"],
];

// What an issue means to a person. Those of the API that are not here come with a message of their own.
const meanings = {
  number: "This is not a number", numberUnclear: "The decimal sign is unclear", date: "This is not a date", dateUnclear: "Day and month are unclear",
  enum: "This word is not known here", currency: "This is not a currency", ambiguous: "Several records have this name", notFound: "Nothing here has this name",
  required: "A value is missing", totalDeviation: "The total is not the sum of its lines", lineTypeUnmapped: "This type of money has no account yet",
  unbalanced: "Debits and credits differ", contradiction: "This contradicts another column", shares: "The shares are not 100 percent together",
  changedInFile: "It was imported before and has changed since", ambiguousRecord: "Several records here could be this one",
  possibleDuplicate: "This may be here already", balanceBreak: "The balances do not add up from here on", columnNotRead: "This column is not read",
  internal: "Something went wrong in the service", csvMissingColumn: "No column has what the import needs", csvBlankHeader: "A column with values has no header",
  csvDuplicateHeader: "Two columns have the same header", csvEmpty: "The file has no rows", csvTooLarge: "The file is too large", csvEncoding: "The character set is not known: upload the file again and choose it under Advanced",
  csvMalformed: "The file is damaged", csvDelimiter: "It is unclear what separates the columns", csvTooManyColumns: "The file has too many columns", fileNotStatement: "The file is no table",
};

const meaning = (issue) => meanings[issue.code] || issue.context?.message || issue.message || words(issue.code);

// placed says where an issue is and what it means.
function placed(issue) {
  const where = [issue.line && "Line " + issue.line, issue.header || (issue.field && words(issue.field))].filter(Boolean).join(", ");
  return (where ? where + ": " : "") + meaning(issue) + (issue.text ? " (" + issue.text + ")" : "");
}

// saying lists issues; it gives null without any.
export const saying = (issues) => (issues?.length ? el("ul", { class: "issues" }, issues.map((i) => el("li", {}, placed(i)))) : null);

// recordLink leads to the history of a record of the import.
export const recordLink = (it, id, text) =>
  el("a", { href: "#trail/" + ({ "journal-entries": "journal", "opening-balances": "transaction" }[it.kind] || it.kind.replace(/s$/, "")) + "/" + id }, text);

const canChange = (it, row) => ["ready", "imported"].includes(it.status) && (!row.outcome || ["failed", "skipped", "undone"].includes(row.outcome));

// rowList shows the rows of an import; changed is called after one was corrected. Counts are brought up to date with counts().
export function rowList(path, it, changed) {
  const read = it.columns.some((c) => c.field) ? it.columns.filter((c) => c.field) : it.columns;
  const columns = [{ name: "Line" }, ...read.map((c) => ({ name: c.header || "Column " + c.index })), { name: "Status" }];
  const problem = el("div", { class: "refusal", role: "alert" });
  const all = table("Rows of the file", columns, []);
  all.classList.add("wide");
  const list = all.querySelector("tbody");
  const empty = el("p", { class: "empty" });
  let status = it.counts.faulty ? "faulty" : it.counts.questions ? "question" : "", turn = 0, shown = new Map();

  // save sends what was changed in a row and what was decided, and puts what the service answers in its place.
  const save = async (row, inputs, decision, place) => {
    const texts = inputs || [];
    const change = texts.filter((i) => i.input.value !== i.text).map((i) => ({ column: i.column, text: i.input.value }));
    const lock = (on) => texts.forEach((i) => { i.input.readOnly = on; }); // what was entered meanwhile would be lost
    lock(true);
    try {
      const now = await put(path + "/rows/" + row.position, { ...(change.length && { cells: change }), ...decision });
      const node = show(now);
      place.closest("tr")?.replaceWith(node);
      (node.querySelector("[aria-invalid]") || node.querySelector(".verdict")).focus();
      announce("Line " + now.line + ": " + words(now.status));
      await changed();
    } catch (failure) {
      lock(false);
      if (!over(failure)) place.querySelector(".refusal[role]").replaceChildren(...told(failure), saying(failure.issues) || "");
    }
  };

  // cell is a text of a row, with what is wrong with it. It can be edited in rows that are not right yet.
  const cell = (row, c, inputs) => {
    const text = row.cells[c.index - 1] ?? "";
    const issues = row.issues.filter((i) => i.column === c.index && (!i.line || i.line === row.line));
    const id = "cell-" + row.position + "-" + c.index;
    const wrong = issues.length ? el("p", { class: "refusal", id: id + "-issue" }, issues.map(meaning).join(". ")) : null;
    if (!inputs) return el("div", { class: "cell" }, text, wrong);
    const input = el("input", {
      id, value: text, autocomplete: "off", spellcheck: "false", "aria-label": (c.header || "Column " + c.index) + ", line " + row.line,
      "aria-invalid": issues.some((i) => i.severity === "error") && "true", "aria-describedby": wrong && id + "-issue",
      onkeydown: (event) => event.key === "Enter" && input.closest("tr").querySelector("[data-save]").click(),
    });
    inputs.push({ column: c.index, input, text });
    return el("div", { class: "cell" }, input, wrong);
  };

  // verdict says what becomes of a row, and has the buttons to change that.
  const verdict = (row, inputs) => {
    const at = new Set(read.map((c) => c.index));
    const others = row.issues.filter((i) => !at.has(i.column) || (i.line && i.line !== row.line)).map((i) => (i.line === row.line ? { ...i, line: 0 } : i));
    const decide = (decision, name) => {
      const isSo = row.decision === decision;
      const button = el("button", { type: "button", "aria-pressed": String(isSo), onclick: () => busy(button, () => save(row, inputs, { decision: isSo ? null : decision }, node)) }, name);
      return button;
    };
    const buttons = [];
    if (inputs) {
      const button = el("button", { type: "button", "data-save": true, onclick: () => busy(button, () => save(row, inputs, {}, node)) }, "Save");
      buttons.push(button);
    }
    const can = canChange(it, row), asks = can && row.status === "question";
    if (asks || can && row.status === "duplicate") buttons.push(decide("import", "Import anyway"));
    if (asks && row.matchId) buttons.push(decide("replace", "Replace what is here"));
    if (asks) buttons.push(decide("skip", "Leave out"));
    const why = row.outcome ? row.reason : row.status === "ignored" && row.reason;
    const node = el("div", { class: "verdict", tabindex: "-1" },
      row.outcome ? state(row.outcome) : state(row.status, statuses.find(([name]) => name === row.status)?.[2]),
      why ? el("span", { class: "about" }, words(why)) : null, others.length ? el("p", { class: "refusal" }, others.map(placed).join(". ")) : null,
      row.entityId || row.matchId ? el("span", { class: "about" }, recordLink(it, row.entityId || row.matchId, row.entityId ? "Its record" : "What is here")) : null,
      buttons.length ? el("div", { class: "buttons" }, buttons) : null, el("div", { class: "refusal", role: "alert" }));
    return node;
  };

  const show = (row) => {
    shown.set(row.position, row);
    const inputs = canChange(it, row) && ["faulty", "question", "part"].includes(row.status) ? [] : null;
    const texts = read.map((c) => cell(row, c, inputs));
    return cells(columns, [String(row.line), ...texts, verdict(row, inputs)]);
  };

  // load appends rows. Those that were corrected meanwhile are no longer among those of their status, so that the page is counted anew.
  const load = async (first) => {
    const mine = first ? ++turn : turn;
    const isSo = (row) => !status || row.status === status;
    const at = first ? 1 : Math.floor([...shown.values()].filter(isSo).length / page) + 1;
    const found = await get(path + "/rows", { limit: page, page: at, ...(status && { status }) });
    if (mine !== turn) return;
    if (first) {
      shown = new Map();
      list.replaceChildren();
    }
    const added = found.data.filter((row) => !shown.has(row.position));
    list.append(...added.map(show));
    if (added.length && added.length < page && found.pagination.nextPage) return load(false);
    more.hidden = !found.pagination.nextPage;
    all.hidden = !list.children.length;
    empty.textContent = list.children.length ? "" : "No such rows.";
    empty.hidden = !all.hidden;
    if (!first || mine > 1) announce(number(found.data.length) + " rows shown");
  };
  const failing = async (work) => {
    problem.replaceChildren();
    try {
      await work();
    } catch (failure) {
      if (!over(failure)) problem.replaceChildren(...told(failure));
    }
  };
  const more = el("button", { type: "button", hidden: true, onclick: () => busy(more, () => failing(() => load(false))) }, "Load more");
  const tabs = [...statuses, ["", "rows", "All"]].map(([value, name, text]) => {
    const button = el("button", { type: "button", onclick: () => busy(button, () => failing(async () => {
      status = value;
      counts(it);
      await load(true);
    })) });
    return { value, name, text, button };
  });
  // counts shows how many rows have which status.
  const counts = (now) => {
    it = now;
    for (const t of tabs) {
      t.button.textContent = t.text + " " + number(it.counts[t.name]);
      t.button.setAttribute("aria-pressed", String(t.value === status));
      t.button.hidden = !it.counts[t.name] && t.value !== status;
    }
  };
  counts(it);
  return { counts, ready: failing(() => load(true)), node: el("div", { class: "rows" }, el("div", { class: "tabs", role: "group", "aria-label": "Which rows" }, tabs.map((t) => t.button)), problem, all, empty, more) };
}
