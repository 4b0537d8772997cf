// The history of a record: who changed what, field by field, with what it did to the books.
import { el, table } from "./statement.js";
import { announce, busy, description, get, moment, over, told, words } from "./service.js";
import { resolve } from "./fields.js";

const page = 25;
const columns = [{ name: "Field" }, { name: "Before" }, { name: "After" }];
const shown = (value) => (value === undefined ? "—" : typeof value === "string" ? value : JSON.stringify(value));
const who = (e) => words(e.actor.type) + (e.source.type === e.actor.type ? "" : ", " + words(e.source.type));

// books is what an event did to the entries.
function books(journal) {
  const delta = journal.delta.map((d) => [d.accountId, new Intl.NumberFormat().format(d.centTotal)]);
  return el("div", {}, el("p", { class: "about" }, journal.entriesAdded + " entries added, " + journal.entriesRetired + " retired"),
    delta.length ? table("Change of accounts in cents", [{ name: "Account" }, { name: "Cents", amount: true }], delta) : null);
}

// event is one change, with its fields.
function event(e) {
  return el("li", {},
    el("h2", {}, words(e.type) + " " + words(e.entity.type).toLowerCase() + (e.entity.name ? " " + e.entity.name : "")),
    el("p", { class: "about" }, el("time", { datetime: e.recordedAt }, moment(e.recordedAt)), " · " + who(e) + " · revision " + e.revision),
    e.changes.length ? table("Changes", columns, e.changes.map((c) => [c.key, shown(c.old), shown(c.new)])) : null,
    e.journal ? books(e.journal) : null);
}

// form asks for a record.
function form(entity, id) {
  const type = el("select", { id: "trail-type" }, el("option", { value: entity }, entity ? words(entity) : "Choose"));
  const of = el("input", { id: "trail-id", value: id, autocomplete: "off", spellcheck: "false" });
  types(type, entity);
  return el("form", { class: "filters", "aria-label": "Record", onsubmit: (submitted) => {
    submitted.preventDefault();
    if (type.value && of.value.trim()) location.hash = "#trail/" + type.value + "/" + of.value.trim();
  } },
  el("div", { class: "field" }, el("label", { for: "trail-type" }, "Record"), type),
  el("div", { class: "field" }, el("label", { for: "trail-id" }, "Id"), of),
  el("button", { class: "main" }, "Show history"));
}

// types fills the choice with the types of records that the service knows.
async function types(select, entity) {
  try {
    const all = await description();
    const parameters = all.paths["/audit/events"].get.parameters.map((p) => resolve(p, all));
    const values = resolve(parameters.find((p) => p.name === "entityType").schema, all).enum.filter((v) => v !== entity && v !== "app");
    select.append(...values.map((value) => el("option", { value }, words(value))));
  } catch {
    // The history of the record in the address is of use without the choice.
  }
}

async function history(section, where) {
  const [entity = "", id = ""] = where.split("/");
  const body = el("div", {});
  section.replaceChildren(el("h1", { id: "trail-title", tabindex: "-1" }, "History"), form(entity, id), body);
  if (!entity || !id) {
    return body.replaceChildren(el("p", { class: "lead" }, "Of any record: who changed it, when, and how."));
  }
  body.replaceChildren(el("p", { class: "lead" }, "Opening…"));
  const events = el("ol", { class: "events" });
  let cursor = null;
  const load = async () => {
    const found = await get("/audit/events", { entityType: entity, entityId: id, limit: page, ...(cursor && { cursor }) });
    events.append(...found.data.map(event));
    cursor = found.page.nextCursor;
    more.hidden = !cursor;
    return found.data.length;
  };
  const more = el("button", { type: "button", hidden: true, onclick: () => busy(more, async () => announce((await load()) + " more changes")) }, "Load more");
  try {
    const n = await load();
    body.replaceChildren(n ? events : el("p", { class: "empty" }, "The trail has nothing of this record."), more);
  } catch (failure) {
    if (!over(failure)) body.replaceChildren(...told(failure));
  }
}

export const trail = {
  title: "History",
  enter: history,
  reset() {
    document.getElementById("trail").replaceChildren();
  },
};
