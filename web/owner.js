// The statement of an owner who follows a link: the part behind the # is exchanged for a session, which this page keeps in memory alone.
const link = decodeURIComponent(location.hash.slice(1));
const message = document.getElementById("message");
const article = document.getElementById("statement");
const others = document.getElementById("others");
let session = null;
let shown = null; // the statement on the page
let list = [];

const problems = {
  OWNER_STATEMENT_LINK_EXPIRED: "This link has expired: links to owner statements work for 30 days. Please ask your property manager for a new one.",
  OWNER_STATEMENT_LINK_INVALID: "This link does not open a statement any more. The statement may have been taken back for a correction, or the link replaced. Please ask your property manager for a new one.",
  NOT_FOUND: "This statement is not available at the moment. Your property manager may be correcting it.",
  none: "To see your statement, open the link from your e-mail: it is longer than this address.",
  offline: "The statement could not be loaded. Please check your connection and try again.",
};

class Refused extends Error {
  constructor(status, code) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

async function ask(path, options) {
  const answer = await fetch(path, { cache: "no-store", credentials: "omit", ...options });
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, body.code);
}

async function signIn() {
  const answer = await ask("/owner-statement-links/exchange", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token: link }),
  });
  session = await answer.json();
}

// A session lasts an hour, a page that is left open lasts longer: it signs in once more.
async function read(path, again = true) {
  try {
    return await ask(path, { headers: { Authorization: "Bearer " + session.accessToken } });
  } catch (failure) {
    if (failure.status !== 401 || !again) throw failure;
    await signIn();
    return read(path, false);
  }
}

// el makes an element; attributes that are false, null or undefined are left out. Text goes in as text, never as markup.
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "onclick") node.addEventListener("click", value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// Amounts are whole numbers of the currency's smallest unit, of which most currencies have 100.
const digits = { 0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF", 3: "BHD IQD JOD KWD LYD OMR TND" };

function money(amount, currency) {
  const code = currency.toUpperCase();
  const places = Number(Object.keys(digits).find((n) => digits[n].split(" ").includes(code)) ?? 2);
  const whole = String(Math.abs(amount)).padStart(places + 1, "0");
  const text = (amount < 0 ? "-" : "") + whole.slice(0, whole.length - places) + (places ? "." + whole.slice(-places) : "");
  return new Intl.NumberFormat(undefined, { style: "currency", currency: code, minimumFractionDigits: places, maximumFractionDigits: places }).format(text);
}

const percent = (parts) => new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 3 }).format(parts / 100000);
const day = (text) => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" }).format(new Date(text + "T00:00:00Z"));
const isDay = (text) => /^\d{4}-\d{2}-\d{2}$/.test(text);

function period(s) {
  const first = new Date(s.startAt + "T00:00:00Z");
  const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).toISOString().slice(0, 10);
  if (s.startAt.endsWith("-01") && s.endAt === last) {
    return new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" }).format(first);
  }
  return day(s.startAt) + " – " + day(s.endAt);
}

// table makes a table whose columns are {name, amount}; a row or foot is a list of texts or elements. The first column of a foot heads it.
// On a phone the rows of a wide table stand as cards: the roles keep it a table for screen readers, data-name says the column to everybody else.
function table(title, columns, rows, foot) {
  const at = (i) => (columns[i].amount ? "amount" : null);
  const cells = (row, head) => row.map((cell, i) => el(head && i === 0 ? "th" : "td", {
    role: head && i === 0 ? "rowheader" : "cell", scope: head && i === 0 ? "row" : null, class: at(i), "data-name": columns[i].name,
  }, cell));
  const width = columns.length < 4 ? "narrow" : columns.length > 4 ? "wide" : "";
  return el("div", { class: "scroll " + width, role: "region", "aria-label": title, tabindex: "0" }, el("table", { role: "table" },
    el("caption", { class: "unseen" }, title),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, columns.map((c, i) => el("th", { scope: "col", role: "columnheader", class: at(i) }, c.name)))),
    el("tbody", { role: "rowgroup" }, rows.map((row) => el("tr", { role: "row" }, cells(row, false)))),
    foot && el("tfoot", { role: "rowgroup" }, el("tr", { role: "row" }, cells(foot, true))),
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
function laidOut(s) {
  return s.tables.filter((t) => t.columns.length > 0 && t.rows.length > 0).map((t) => {
    const columns = t.columns.map((c) => ({ name: c.name, amount: c.type !== "field" }));
    const foot = t.totals.map((value) => cell(value, s.currency));
    if (foot.length && foot[0] === "") foot[0] = "Total";
    return [el("h2", {}, t.name), table(t.name, columns, t.rows.map((row) => row.cells.map((value) => cell(value, s.currency))), foot)];
  });
}

// plain shows the entries of each figure, for statements without a layout.
function plain(s) {
  const sections = [["netRevenue", "Revenue and fees"], ["expenses", "Expenses"], ["payouts", "Payouts"]];
  return sections.map(([name, title]) => {
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

const statuses = { paid: "Paid", unpaid: "Not paid yet", underpaid: "Partly paid", overpaid: "Paid more than due" };

function payouts(s) {
  if (!s.payouts.length) return null;
  const rows = s.payouts.map((p) => [dated(p.date), money(-p.total, s.currency)]);
  return [
    el("h2", {}, "Paid to the owners"),
    table("Paid to the owners", [{ name: "Date" }, { name: "Amount", amount: true }], rows, ["Total", money(s.payment.received, s.currency)]),
  ];
}

function shares(s) {
  if (s.shares.length < 2) return null;
  const rows = s.shares.map((p) => [p.name + (p.contactId === session.contactId ? " (you)" : ""), percent(p.split), money(p.amount, s.currency)]);
  return [el("h2", {}, "Shares"), table("Shares", [{ name: "Owner" }, { name: "Part", amount: true }, { name: "Amount", amount: true }], rows)];
}

function size(bytes) {
  const kilo = bytes / 1024;
  return kilo < 1024 ? Math.max(1, Math.round(kilo)) + " KB" : (kilo / 1024).toFixed(1) + " MB";
}

async function download(file, button) {
  button.disabled = true;
  try {
    const answer = await read("/files/" + encodeURIComponent(file.id) + "/download");
    const url = URL.createObjectURL(await answer.blob());
    el("a", { href: url, download: file.filename }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  } catch {
    message.hidden = false;
    message.className = "problem";
    message.textContent = "The file could not be downloaded. It may have been removed.";
  }
  button.disabled = false;
}

function files(s) {
  const attached = s.attachments || [];
  if (!attached.length) return null;
  return [el("h2", {}, "Documents"), el("ul", { class: "files" }, attached.map((file) => el("li", {},
    el("button", { type: "button", onclick: (event) => download(file, event.currentTarget) }, file.filename + " (" + size(file.byteSize) + ")"))))];
}

function headline(s) {
  const mine = s.shares.find((p) => p.contactId === session.contactId);
  const figures = [["Available to the owners", money(s.financials.available, s.currency)]];
  if (mine && s.shares.length > 1) figures.push(["Your share (" + percent(mine.split) + ")", money(mine.amount, s.currency)]);
  if (s.status === "published") figures.push(["Payment", statuses[s.payment.status] || s.payment.status]);
  return el("dl", { class: "headline" }, figures.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function summary(s) {
  return [el("h2", {}, "Summary"), el("table", { class: "summary" },
    el("caption", { class: "unseen" }, "Summary"),
    el("tbody", {}, s.summary.map((line) => el("tr", { class: line.separated && "result" },
      el("th", { scope: "row" }, line.text), el("td", { class: "amount" }, money(line.value, s.currency))))))];
}

function render(s) {
  document.title = s.listing.name + ", " + period(s) + " – Owner statement";
  article.replaceChildren(...[
    el("div", { class: "head" },
      el("header", {}, el("p", { class: "sender" }, session.teamName), el("h1", {}, s.listing.name), el("p", { class: "period" }, "Owner statement, " + period(s))),
      el("button", { type: "button", class: "main", onclick: () => print() }, "Print")),
    s.status === "published" ? null : el("p", { class: "note" }, "This is a draft: its figures can still change."),
    headline(s), summary(s), s.tables?.length ? laidOut(s) : plain(s), payouts(s), shares(s), files(s),
  ].flat(2).filter(Boolean));
  article.hidden = false;
  message.hidden = true;
}

function renderList() {
  others.querySelector("ul").replaceChildren(...list.map((s) => el("li", {}, el("button", {
    type: "button", "aria-current": s.id === shown && "page", onclick: () => open(s.id, true),
  }, el("span", {}, period(s) + ", " + s.listing.name + (s.status === "published" ? "" : " (draft)")), el("span", { class: "amount" }, money(s.financials.available, s.currency))))));
  others.hidden = list.length < 2;
}

function explain(failure) {
  article.hidden = true;
  message.hidden = false;
  message.className = "problem";
  message.setAttribute("role", "alert");
  const known = problems[failure.code];
  message.replaceChildren(known || problems.offline);
  if (!known) message.append(" ", el("button", { type: "button", onclick: () => location.reload() }, "Try again"));
}

async function open(id, chosen) {
  try {
    const s = await (await read("/statements/" + encodeURIComponent(id) + "?viewAs=owner")).json();
    shown = id;
    render(s);
    renderList();
    if (chosen) {
      history.pushState({ id }, "");
      scrollTo(0, 0);
      article.focus({ preventScroll: true });
    }
  } catch (failure) {
    explain(failure);
  }
}

async function readList() {
  for (let page = 1; page && page <= 20;) {
    const part = await (await read("/statements?sort=-startAt&limit=250&page=" + page)).json();
    list = list.concat(part.data);
    page = part.pagination.nextPage;
  }
  renderList();
}

async function start() {
  if (!link) return explain({ code: "none" });
  try {
    await signIn();
  } catch (failure) {
    return explain(failure);
  }
  history.replaceState({ id: session.statementId }, "");
  await open(session.statementId, false);
  await readList().catch(() => {}); // the statement is worth showing without the others
}

addEventListener("popstate", (event) => event.state?.id && open(event.state.id, false));
addEventListener("hashchange", () => location.hash.slice(1) !== link && location.hash !== "#statement" && location.reload());
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part behind the # is the link
  article.focus();
});
start();
