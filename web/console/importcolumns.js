// What the columns of a file hold: as it was found, to be changed and read again.
import { el, table } from "./statement.js";
import { busy, words } from "./service.js";

const orders = { dmy: "Day, month, year", mdy: "Month, day, year", ymd: "Year, month, day" };
const signs = { ",": "1.234,56", ".": "1,234.56" };
const ways = { date: orders, amount: signs, share: signs, integer: signs };
const options = (all) => all.map(([value, text]) => el("option", { value }, text));

// chooser is the row of a column: what it holds, and how that is written.
function chooser(it, c) {
  const name = c.header || "Column " + c.index;
  const before = it.mapping?.columns?.find((m) => m.index === c.index || (!m.index && m.header === c.header));
  const lines = it.kind === "reservations" ? [["lines.", "Another amount of the stay"]] : [];
  const field = el("select", { "aria-label": "What " + name + " holds", onchange: () => settle() }, options([["", "Not read"],
    ...(it.fields || []).map((f) => [f.name, words(f.name) + (f.isRequired ? " (needed)" : "")]), ...lines]));
  const type = el("input", { "aria-label": "Type of the amounts of " + name, placeholder: "Type", autocomplete: "off" });
  const about = el("p", { class: "hint" });
  const way = el("select", { "aria-label": "How " + name + " is written" });
  const isLine = c.field.startsWith("lines.");
  field.value = isLine ? "lines." : c.field;
  type.value = isLine ? c.field.slice(6) : "";

  // settle offers what goes with the field.
  function settle() {
    const f = it.fields?.find((one) => one.name === field.value);
    const known = field.value === "lines." ? signs : ways[f?.type];
    type.hidden = field.value !== "lines.";
    about.textContent = f?.doc || "";
    way.hidden = !known;
    if (!known) return way.replaceChildren();
    const isOwn = field.value === (isLine ? "lines." : c.field);
    const found = isOwn && !c.isUnclear && known[known === orders ? c.dateOrder : c.decimal];
    way.replaceChildren(...options([["", found ? found + " (found)" : isOwn && c.isUnclear ? "Choose" : "Found out"], ...Object.entries(known)]));
    way.value = (known === orders ? before?.dateOrder : before?.decimal) || "";
    if (isOwn && c.isUnclear) way.setAttribute("aria-invalid", "true");
    else way.removeAttribute("aria-invalid");
  }
  settle();

  const value = () => {
    const known = !way.hidden && way.value && (way.value in orders ? { dateOrder: way.value } : { decimal: way.value });
    const holds = field.value === "lines." ? (type.value.trim() ? "lines." + type.value.trim() : "") : field.value;
    // The place says which column it is, the header in which line the headers are.
    return { index: c.index, ...(it.form.headerLine && c.header ? { header: c.header } : {}), field: holds, ...known };
  };
  return { value, cells: [el("div", {}, name), el("div", { class: "about" }, c.examples.join(" · ")), el("div", { class: "field" }, field, type, about), el("div", {}, way)] };
}

// columnForm shows the columns; again is called with the mapping when the file is to be read again.
export function columnForm(it, again) {
  const all = it.columns.map((c) => chooser(it, c));
  const box = (id, text, isOn) => {
    const input = el("input", { type: "checkbox", id });
    input.checked = isOn;
    return { input, node: el("div", { class: "choice" }, input, el("label", { for: id }, text)) };
  };
  const header = box("import-header", "The file has a line of headers", it.form.headerLine > 0);
  const negated = box("import-negated", "Money that comes in is below zero", it.form.negated);
  const currency = el("input", { id: "import-currency", value: it.mapping?.currency || "", maxlength: "3", placeholder: "USD", autocomplete: "off" });
  const sheet = el("select", { id: "import-sheet" }, options(it.form.sheets.map((name) => [name, name])));
  sheet.value = it.form.sheet;

  const mapping = () => {
    const out = { hasHeader: header.input.checked };
    if (currency.value.trim()) out.currency = currency.value.trim();
    if (it.mapping?.negated !== undefined || negated.input.checked !== it.form.negated) out.negated = negated.input.checked;
    if (it.form.sheets.length > 1) out.sheet = sheet.value;
    // Another sheet has other columns, and without its headers a file has other names for them.
    if (sheet.value === it.form.sheet || it.form.sheets.length < 2) out.columns = all.map((c) => c.value());
    if (!out.hasHeader) for (const c of out.columns || []) delete c.header;
    return out;
  };
  const button = el("button", {}, "Read again");
  const isOpen = it.status === "failed" || it.columns.some((c) => c.isUnclear);
  const columns = table("Columns of the file", [{ name: "Column" }, { name: "Examples" }, { name: "What it holds" }, { name: "Written as" }], all.map((c) => c.cells));
  columns.classList.add("wide", "columns");
  return el("details", { open: isOpen }, el("summary", {}, "What the columns hold"),
    el("form", { "aria-label": "Columns", novalidate: true, onsubmit: (event) => {
      event.preventDefault();
      busy(button, () => again(mapping()));
    } },
    columns,
    el("div", { class: "fields" }, header.node, it.kind === "bank-records" ? negated.node : null,
      el("div", { class: "field" }, el("label", { for: "import-currency" }, "Currency, if no column says it"), currency),
      it.form.sheets.length > 1 ? el("div", { class: "field" }, el("label", { for: "import-sheet" }, "Sheet"), sheet) : null),
    el("div", { class: "buttons" }, button)));
}
