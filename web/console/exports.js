// The exports: a form for each, made from the service's description, and the two ways of asking.
import { el } from "./statement.js";
import { busy, description, follow, get, over, post, refusal, told } from "./service.js";
import { fieldsOf, forget, refuse, resolve, selectionOf, settle } from "./fields.js";
import { started } from "./operations.js";

let exports;

// all lists the exports of the description by tag: the paths that can be queued.
async function all() {
  const d = await description();
  exports ||= Object.entries(d.paths)
    .filter(([path, item]) => /(csv|pdf|batch)$/.test(path) && item.post?.operationId?.startsWith("queue"))
    .map(([path, item]) => ({
      path, id: item.post.operationId.slice("queue".length), tag: item.post.tags?.[0] || "Other",
      label: (item.get?.summary || item.post.summary).replace(/^Export ((the|an?) )?/, "").replace(/^./, (c) => c.toUpperCase()),
      about: about(item.post.description), schema: selector(item, d),
    }))
    .sort((a, b) => (a.tag + a.label < b.tag + b.label ? -1 : 1));
  return exports;
}

// selector is the schema of all that an export is asked with: its body and what stands in its path.
function selector(item, d) {
  const body = resolve(item.post.requestBody?.content["application/json"].schema, d);
  const inPath = [...(item.parameters || []), ...(item.post.parameters || [])].map((p) => resolve(p, d)).filter((p) => p.in === "path");
  const own = inPath.map((p) => [p.name, { ...resolve(p.schema, d), description: p.description }]);
  return { ...body, properties: { ...Object.fromEntries(own), ...body.properties }, required: [...inPath.map((p) => p.name), ...(body.required || [])] };
}

// placed puts values into the places of a path and gives the others. It throws the names of those that are missing.
function placed(path, selection) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1]);
  const missing = names.filter((name) => selection[name] === undefined);
  if (missing.length) throw Object.assign(new Error("missing"), { missing });
  const others = Object.fromEntries(Object.entries(selection).filter(([name]) => !names.includes(name)));
  return [path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(selection[name])), others];
}

// about is what the description says of an export apart from how it fails and runs, which the page shows when it happens.
const about = (text) => (text || "").split(/(?<=\.)\s+/).filter((s) => !/^(Fails|Starts|Every valid GET|Further)\b/.test(s)).join(" ");

// asking is the pair of buttons of an export and the place where its outcome is told; selection() and fields() are looked at with each click.
export function asking(of, texts = {}) {
  const outcome = el("div", { class: "outcome", "aria-live": "polite" });
  const now = el("button", { type: "submit", class: texts.quiet ? null : "main", onclick: (event) => { event.preventDefault(); busy(now, download); } }, texts.now || "Download now");
  const later = el("button", { type: "button", onclick: () => busy(later, queue) }, texts.later || "Run in background");

  const say = (kind, ...content) => outcome.replaceChildren(el("div", { class: kind }, content));
  const ask = async (waiting, work) => {
    const { path, label, fields = [], selection } = of();
    fields.forEach(settle);
    say("note", waiting);
    try {
      await work(...placed(path, selection ?? selectionOf(fields)), label);
    } catch (failure) {
      if (over(failure)) return;
      if (failure.missing) {
        say("problem", el("p", {}, "Some fields need a value."));
        refuse(fields, { issues: failure.missing.map((name) => ({ path: [name], message: "Enter a value." })) });
      } else refused(failure, fields);
    }
  };
  const download = () => ask("Preparing the file…", async (path, selection) => {
    const link = await get(path, selection);
    follow(link.url);
    const until = new Intl.DateTimeFormat(undefined, { timeStyle: "short" }).format(new Date(link.expiresAt));
    say("note done", "The download has started. ", el("a", { href: link.url, download: "" }, "Download again"), " (works until " + until + ")");
  });
  const queue = () => ask("Starting…", async (path, selection, label) => {
    const operation = await post(path, selection);
    started(operation.operationId, label);
    say("note done", "Started in the background. ", el("a", { href: "#operations" }, "Follow it under Operations"));
  });

  function refused(failure, fields) {
    if (failure.code === "EXPORT_REQUIRES_POST") {
      const instead = el("button", { type: "button", onclick: () => busy(instead, queue) }, "Run it in the background");
      say("note", el("p", {}, "This is too much to wait for."), instead);
      return;
    }
    const others = refuse(fields, failure);
    const text = told(failure);
    if (!others.length && failure.issues?.length) text[0].textContent = "Some fields need another value."; // each says which
    const listed = others.filter((issue) => issue.message).map((issue) => el("li", {}, [issue.path?.join("."), issue.message].filter(Boolean).join(": ") + (issue.code ? " (" + issue.code + ")" : "")));
    say("problem", text, details(failure), listed.length ? el("ul", { class: "issues" }, listed) : null);
  }
  return { buttons: el("div", { class: "buttons" }, now, later), outcome };
}

// details are the plain values that a failure brings along, such as the ids that it is about.
function details(failure) {
  const plain = (v) => v !== null && (typeof v !== "object" || (Array.isArray(v) && v.every((x) => typeof x !== "object")));
  const found = Object.entries(failure.context || {}).filter(([name, v]) => name !== "requiredScopes" && plain(v));
  return found.length ? el("ul", { class: "issues" }, found.map(([name, v]) => el("li", {}, name + ": " + [v].flat().join(", ")))) : null;
}

async function open(place, id) {
  let found;
  try {
    found = await all();
  } catch (failure) {
    place.replaceChildren(refusal(failure));
    return;
  }
  const d = await description();
  const one = found.find((e) => e.id === id) || found[0];
  if (!one) return place.replaceChildren(el("p", {}, "The service offers no exports."));
  const fields = fieldsOf(one.schema, d);
  const [first, rest] = [fields.filter((f) => f.first), fields.filter((f) => !f.first)];
  const { buttons, outcome } = asking(() => ({ path: one.path, label: one.label, fields }));
  place.replaceChildren(el("form", { novalidate: true, "aria-label": one.label, onsubmit: (event) => event.preventDefault() },
    one.about ? el("p", { class: "lead" }, one.about) : null,
    el("div", { class: "fields" }, first.map((f) => f.node)),
    rest.length ? el("details", {}, el("summary", {}, "More filters (" + rest.length + ")"), el("div", { class: "fields" }, rest.map((f) => f.node))) : null,
    buttons, outcome));
  return [found, one];
}

export const exportForms = {
  title: "Exports",
  async enter(section, id) {
    let place = section.querySelector("#export-form");
    if (!place) {
      place = el("div", { id: "export-form" });
      const choose = el("select", { id: "export", onchange: () => { location.hash = "#exports/" + choose.value; } });
      section.replaceChildren(el("h1", { id: "exports-title", tabindex: "-1" }, "Exports"),
        el("div", { class: "field" }, el("label", { for: "export" }, "Export"), choose), place);
    } else if (section.dataset.export === id) {
      return; // what was entered stays
    }
    section.dataset.export = id;
    const opened = await open(place, id);
    if (!opened) {
      delete section.dataset.export;
      return;
    }
    const [found, one] = opened;
    const choose = section.querySelector("#export");
    if (!choose.options.length) {
      for (const tag of new Set(found.map((e) => e.tag))) {
        choose.append(el("optgroup", { label: tag }, found.filter((e) => e.tag === tag).map((e) => el("option", { value: e.id }, e.label))));
      }
    }
    choose.value = one.id;
  },
  reset() {
    forget();
    document.getElementById("exports").removeAttribute("data-export");
  },
};
