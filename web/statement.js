// What a page needs to show a statement. The console imports it; the owner page holds it as text, without the word export.

// el makes an element; attributes that are false, null or undefined are left out, functions listen (onclick). Text goes in as text, never as markup.
export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// Amounts are whole numbers of the currency's smallest unit, of which most currencies have 100.
const digits = { 0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF", 3: "BHD IQD JOD KWD LYD OMR TND" };

export function money(amount, currency) {
  const code = currency.toUpperCase();
  const places = Number(Object.keys(digits).find((n) => digits[n].split(" ").includes(code)) ?? 2);
  const whole = String(Math.abs(amount)).padStart(places + 1, "0");
  const text = (amount < 0 ? "-" : "") + whole.slice(0, whole.length - places) + (places ? "." + whole.slice(-places) : "");
  return new Intl.NumberFormat(undefined, { style: "currency", currency: code, minimumFractionDigits: places, maximumFractionDigits: places }).format(text);
}

export const percent = (parts) => new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 3 }).format(parts / 100000);
export const day = (text) => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" }).format(new Date(text + "T00:00:00Z"));
const isDay = (text) => /^\d{4}-\d{2}-\d{2}$/.test(text);

export function period(s) {
  const first = new Date(s.startAt + "T00:00:00Z");
  const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).toISOString().slice(0, 10);
  if (s.startAt.endsWith("-01") && s.endAt === last) {
    return new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" }).format(first);
  }
  return day(s.startAt) + " – " + day(s.endAt);
}

// row is a row of a table: a list of texts or elements, one for each column. In a foot the first one heads the row.
// On a phone the rows of a wide table stand as cards: the roles keep it a table for screen readers, data-name says the column to everybody else.
export function row(columns, cells, heads) {
  return el("tr", { role: "row" }, cells.map((cell, i) => el(heads && i === 0 ? "th" : "td", {
    role: heads && i === 0 ? "rowheader" : "cell", scope: heads && i === 0 ? "row" : null, class: columns[i].amount && "amount", "data-name": columns[i].name,
  }, cell)));
}

// table makes a table whose columns are {name, amount}.
export function table(title, columns, rows, foot) {
  const width = columns.length < 4 ? "narrow" : columns.length > 4 ? "wide" : "";
  return el("div", { class: "scroll " + width, role: "region", "aria-label": title, tabindex: "0" }, el("table", { role: "table" },
    el("caption", { class: "unseen" }, title),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, columns.map((c) => el("th", { scope: "col", role: "columnheader", class: c.amount && "amount" }, c.name)))),
    el("tbody", { role: "rowgroup" }, rows.map((cells) => row(columns, cells))),
    foot && el("tfoot", { role: "rowgroup" }, row(columns, foot, true)),
  ));
}

const dated = (text) => el("span", { class: "day" }, day(text));

function cell(value, currency) {
  if (value.amount !== undefined) return money(value.amount, currency);
  if (value.percent !== undefined) return percent(value.percent);
  const text = value.text ?? "";
  return isDay(text) ? dated(text) : text;
}

// laidOut shows the sections as the manager laid them out.
function laidOut(s, tables) {
  return tables.map((t) => {
    const columns = t.columns.map((c) => ({ name: c.name, amount: c.type !== "field" }));
    const foot = t.totals.map((value) => cell(value, s.currency));
    if (foot.length && foot[0] === "") foot[0] = "Total";
    return [el("h2", {}, t.name), table(t.name, columns, t.rows.map((row) => row.cells.map((value) => cell(value, s.currency))), foot)];
  });
}

// plain shows the entries of figures, for which a statement has no table.
function plain(s, wanted) {
  const sections = [["netRevenue", "Revenue and fees"], ["expenses", "Expenses"], ["payouts", "Payouts"]];
  return sections.filter(([name]) => wanted(name)).map(([name, title]) => {
    const lines = s.lines.filter((line) => line.section === name);
    if (!lines.length) return null;
    const rows = lines.map((line) => {
      const stay = line.reservation && [line.reservation.guestName, line.reservation.confirmationCode].filter(Boolean).join(", ");
      const about = [line.description && line.description !== line.account.name ? line.account.name : "", stay].filter(Boolean).join(" · ");
      return [dated(line.date), el("span", {}, line.description || line.account.name, about && el("span", { class: "about" }, about)), money(line.total, s.currency)];
    });
    const total = lines.reduce((sum, line) => sum + line.total, 0);
    return [el("h2", {}, title), table(title, [{ name: "Date" }, { name: "Description" }, { name: "Amount", amount: true }], rows, ["Total", "", money(total, s.currency)])];
  });
}

export const statuses = { paid: "Paid", unpaid: "Not paid yet", underpaid: "Partly paid", overpaid: "Paid more than due" };

export function payouts(s) {
  if (!s.payouts.length) return null;
  const rows = s.payouts.map((p) => [dated(p.date), money(-p.total, s.currency)]);
  const total = s.payouts.reduce((sum, p) => sum - p.total, 0);
  return [
    el("h2", {}, "Paid to the owners"),
    table("Paid to the owners", [{ name: "Date" }, { name: "Amount", amount: true }], rows, ["Total", money(total, s.currency)]),
  ];
}

// shares shows how the balance divides; mine is the contact who reads it, if any.
export function shares(s, mine) {
  if (s.shares.length < 2) return null;
  const rows = s.shares.map((p) => [p.name + (p.contactId === mine ? " (you)" : ""), percent(p.split), money(p.amount, s.currency)]);
  return [el("h2", {}, "Shares"), table("Shares", [{ name: "Owner" }, { name: "Part", amount: true }, { name: "Amount", amount: true }], rows)];
}

export function size(bytes) {
  const kilo = bytes / 1024;
  return kilo < 1024 ? Math.max(1, Math.round(kilo)) + " KB" : (kilo / 1024).toFixed(1) + " MB";
}

export function sections(s) {
  const tables = (s.tables || []).filter((t) => t.columns.length > 0 && t.rows.length > 0);
  const kinds = { netRevenue: "netRevenue", expenses: "other" };
  return [...laidOut(s, tables), ...plain(s, (name) => !tables.some((t) => t.kind === kinds[name] || !kinds[name]))];
}

export function summary(s) {
  return [el("h2", {}, "Summary"), el("table", { class: "summary" },
    el("caption", { class: "unseen" }, "Summary"),
    el("tbody", {}, s.summary.map((line) => el("tr", { class: line.separated && "result" },
      el("th", { scope: "row" }, line.text), el("td", { class: "amount" }, money(line.value, s.currency))))))];
}
