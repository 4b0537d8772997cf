// Forms made from the schemas of the service's description, and the values that they hold.
import { el } from "./statement.js";
import { words } from "./service.js";

// What was entered, by field: it stays when another form shows that field at first sight. What is folded starts empty, so that no selection
// is narrower than it looks.
const kept = new Map();

export const forget = () => kept.clear();

// resolve follows references; what stands beside one holds for this place. What can be null as well is what it is otherwise.
export function resolve(schema, description) {
  if (schema?.$ref) {
    const { $ref, ...beside } = schema;
    return { ...resolve($ref.slice(2).split("/").reduce((at, name) => at[name], description), description), ...beside };
  }
  const real = (schema?.anyOf || schema?.oneOf)?.filter((s) => s.type !== "null");
  return real?.length === 1 ? { ...resolve(real[0], description), ...schema } : schema || {};
}

const typed = (schema, name) => [schema.type].flat().includes(name);
const isMonth = (schema) => typed(schema, "string") && /^\^\\d\{4\}-\(0\[1-9\]\|1\[0-2\]\)\$$/.test(schema.pattern || "");

// rank orders fields: what must be there, when, what; then what narrows down and what concerns the file.
function rank(name, schema, required) {
  if (required) return 0;
  if (/^(sort|columns|locale)$/.test(name)) return 7;
  if (typed(schema, "boolean") || schema.enum?.length === 1) return 6;
  if (/(month|year|date|range|period|from|to|at)$/i.test(name) && !typed(schema, "array")) return /^(month|year|daterange|startdate|enddate)$/i.test(name) ? 1 : 2;
  if (schema.enum?.length > 1 || name === "search" || /^listingIds?$/.test(name)) return 3;
  return schema.items?.enum ? 4 : 5;
}

// fieldsOf makes the fields of a schema, in an order for people: {name, schema, node, first}; those that are not first can wait.
export function fieldsOf(schema, description) {
  const all = Object.entries(resolve(schema, description).properties || {}).map(([name, own]) => {
    const field = { name, schema: resolve(own, description) };
    if (field.schema.items) field.schema = { ...field.schema, items: resolve(field.schema.items, description) };
    const required = resolve(schema, description).required?.includes(name);
    return { ...field, required, rank: rank(name, field.schema, required) };
  });
  const inOrder = (name) => name.replace(/^end/, "start~"); // the end comes after the start
  all.sort((a, b) => a.rank - b.rank || (inOrder(a.name) < inOrder(b.name) ? -1 : 1));
  all.forEach((field, i) => {
    field.first = field.rank === 0 || (field.rank < 5 && i < 9);
    field.node = build(field);
  });
  return all;
}

const idOf = (field) => "field-" + field.name;

function build(field) {
  const { name, schema } = field;
  const id = idOf(field);
  field.problem = el("p", { class: "refusal", id: id + "-problem", hidden: true });
  const hints = [schema.description, hint(schema)].filter(Boolean).join(" ");
  const about = [hints && id + "-hint", id + "-problem"].filter(Boolean).join(" ");
  const label = words(name) + (field.required ? " (required)" : "");
  if (typed(schema, "array") && schema.items?.enum) return group(field, label, hints, about);
  field.input = schema.enum || typed(schema, "boolean") ? select(field, about) : text(field, about);
  field.input.addEventListener("input", () => {
    if (field.first) kept.set(name, field.input.value);
    settle(field);
  });
  if (field.first && kept.has(name)) field.input.value = kept.get(name);
  return el("div", { class: "field" }, el("label", { for: id }, label), field.input, hints && el("p", { class: "hint", id: id + "-hint" }, hints), field.problem);
}

function hint(schema) {
  if (!typed(schema, "array")) return "";
  return "Several are separated by commas.";
}

function select(field, about) {
  const values = typed(field.schema, "boolean") ? [["true", "Yes"], ["false", "No"]] : field.schema.enum.filter((v) => v !== null).map((v) => [v, choice(v)]);
  return el("select", { id: idOf(field), "aria-describedby": about },
    el("option", { value: "" }, usual(field)), values.map(([value, name]) => el("option", { value }, name)));
}

function usual(field) {
  const d = field.schema.default;
  if (d === undefined) return "Any";
  return "Default: " + (d === true ? "yes" : d === false ? "no" : choice(String(d)));
}

// choice writes a value of an enum: -startAt sorts downwards.
function choice(value) {
  return value[0] === "-" ? words(value.slice(1)) + ", descending" : words(value);
}

function text(field, about) {
  const { schema } = field;
  const kind = isMonth(schema) ? "month" : schema.format === "date" ? "date" : field.name === "search" ? "search" : "text";
  return el("input", {
    id: idOf(field), type: kind, "aria-describedby": about, autocomplete: "off", spellcheck: "false",
    inputmode: typed(schema, "integer") ? "numeric" : null, placeholder: kind === "month" ? "YYYY-MM" : null,
  });
}

function group(field, label, hints, about) {
  const boxes = field.schema.items.enum.map((value, i) => {
    const id = idOf(field) + "-" + i;
    return el("div", { class: "choice" }, el("input", { type: "checkbox", id, value, onchange: () => settle(field) }), el("label", { for: id }, choice(value)));
  });
  field.input = el("fieldset", { id: idOf(field), "aria-describedby": about, tabindex: "-1" }, el("legend", {}, label),
    hints && el("p", { class: "hint", id: idOf(field) + "-hint" }, field.schema.description || "None means all."), el("div", { class: "choices" }, boxes), field.problem);
  return field.input;
}

// value is what a field holds, as the schema has it; undefined when it is empty. What has another form goes as it is, for the service to refuse.
export function value(field) {
  const { schema } = field;
  if (typed(schema, "array") && schema.items?.enum) {
    const marked = [...field.input.querySelectorAll("input:checked")].map((box) => box.value);
    return marked.length ? marked : undefined;
  }
  const entered = field.input.value.trim();
  if (!entered) return undefined;
  if (typed(schema, "boolean")) return entered === "true";
  if (typed(schema, "integer")) return /^-?\d{1,15}$/.test(entered) ? Number(entered) : entered;
  if (typed(schema, "array")) return entered.split(",").map((part) => part.trim()).filter(Boolean).map((part) => (typed(schema.items, "integer") && /^-?\d{1,15}$/.test(part) ? Number(part) : part));
  return entered;
}

// selectionOf is what all fields hold.
export function selectionOf(fields) {
  return Object.fromEntries(fields.map((field) => [field.name, value(field)]).filter(([, v]) => v !== undefined));
}

// settle takes the refusal of a field back.
export function settle(field) {
  field.problem.hidden = true;
  field.problem.textContent = "";
  field.input.removeAttribute("aria-invalid");
}

// refuse shows the issues of a failure at their fields and gives those that belong to none. The first refused field gets the focus.
export function refuse(fields, failure) {
  const others = [];
  const at = [];
  for (const issue of failure.issues || []) {
    const field = fields.find((f) => f.name === issue.path?.[0]);
    if (!field) {
      others.push(issue);
      continue;
    }
    const place = issue.path.slice(1).filter((p) => typeof p === "number").map((p) => "No. " + (p + 1) + ": ").join("");
    const text = place + issue.message + (issue.code ? " (" + issue.code + ")" : "");
    field.problem.textContent = [field.problem.textContent, text].filter(Boolean).join("; ");
    field.problem.hidden = false;
    field.input.setAttribute("aria-invalid", "true");
    at.push(field);
  }
  const first = fields.find((f) => at.includes(f));
  if (first) {
    const folded = first.node.closest("details");
    if (folded) folded.open = true;
    first.input.focus();
  }
  return others;
}
