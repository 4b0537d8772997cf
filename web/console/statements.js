// Owner statements: those of a month, and one of them.
import { el, money, payouts, percent, period, row, sections, shares, size, statuses, summary, table } from "./statement.js";
import { announce, busy, get, over, refusal, save, told } from "./service.js";
import { asking } from "./exports.js";
import { isMonth, monthName, monthPicker, usual } from "./months.js";
import { badge } from "./operations.js";

const states = { draft: ["○", "Draft"], inReview: ["◐", "In review"], published: ["✓", "Published"] };
const state = (s) => badge(s.status, ...(states[s.status] || ["•", s.status]));

let month = "", turn = 0;

function build(section) {
  const file = asking(() => ({ path: "/statements/pdf", label: "Owner statements of " + monthName(month), selection: { month } }), { now: "PDF of the month", later: "PDF in background", quiet: true });
  file.buttons.hidden = true;
  section.replaceChildren(
    el("h1", { id: "statements-title", tabindex: "-1" }, "Statements"),
    el("div", { class: "head" }, monthPicker("month", () => month, travel), file.buttons),
    file.outcome, el("div", { id: "month-list" }));
}

// travel changes the month without moving the focus from what changed it.
function travel(to) {
  history.pushState(null, "", "#statements/" + to);
  list(document.getElementById("statements"), to);
}

async function list(section, wanted) {
  const place = section.querySelector("#month-list");
  month = isMonth(wanted) ? wanted : usual();
  section.querySelector("#month").value = month;
  section.querySelector(".outcome").replaceChildren();
  const mine = ++turn;
  place.setAttribute("aria-busy", "true");
  try {
    const found = await get("/statements", { month, limit: 100, sort: "listing" });
    if (mine !== turn) return;
    section.querySelector(".buttons").hidden = found.data.length === 0;
    place.replaceChildren(...shown(found, monthName(month)));
    announce(monthName(month) + ": " + found.pagination.total + " statements");
  } catch (failure) {
    if (over(failure) || mine !== turn) return;
    place.replaceChildren(refusal(failure));
  }
  place.removeAttribute("aria-busy");
}

const columns = [{ name: "Listing" }, { name: "Owners" }, { name: "Status" }, { name: "Available", amount: true }, { name: "Payment" }];

const cells = (s) => [
  el("a", { href: "#statement/" + s.id }, s.listing.name), el("span", {}, s.shares.map((p) => p.name).join(", ")), state(s),
  money(s.financials.available, s.currency), s.status === "published" ? statuses[s.payment.status] || s.payment.status : "–",
];

function shown(found, name) {
  if (!found.data.length) return [el("p", { class: "empty" }, "There are no statements of " + name + ".")];
  const more = el("button", { type: "button", onclick: () => busy(more, () => append(more)) }, "Load more");
  more.dataset.page = found.pagination.nextPage || "";
  more.hidden = !found.pagination.nextPage;
  return [table("Statements of " + name, columns, found.data.map(cells)), more];
}

async function append(more) {
  const mine = turn;
  try {
    const found = await get("/statements", { month, limit: 100, sort: "listing", page: more.dataset.page });
    if (mine !== turn) return;
    const added = found.data.map((s) => row(columns, cells(s)));
    document.querySelector("#month-list tbody").append(...added);
    more.dataset.page = found.pagination.nextPage || "";
    more.hidden = !found.pagination.nextPage;
    added[0]?.querySelector("a").focus();
  } catch (failure) {
    if (!over(failure)) more.after(refusal(failure));
  }
}

function headline(s) {
  const figures = [["Available to the owners", money(s.financials.available, s.currency)], ["Net income", money(s.total, s.currency)]];
  if (s.status === "published") figures.push(["Payment", statuses[s.payment.status] || s.payment.status]);
  return el("dl", { class: "headline" }, figures.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function documents(s) {
  if (!s.attachments?.length) return null;
  return [el("h2", {}, "Documents"), el("ul", { class: "files" }, s.attachments.map((file) => {
    const problem = el("div", { class: "refusal", role: "alert" });
    const button = el("button", { type: "button", class: "file", onclick: () => busy(button, async () => {
      problem.replaceChildren();
      await save(file.id).catch((failure) => over(failure) || problem.replaceChildren(...told(failure)));
    }) }, file.filename + " (" + size(file.byteSize) + ")");
    return el("li", {}, button, problem);
  }))];
}

function issues(s) {
  if (!s.issues.length) return null;
  return el("div", { class: "problem" }, el("p", {}, "The service has found issues:"), el("ul", { class: "issues" }, s.issues.map((i) => el("li", {}, i.code + " (" + i.severity + ")"))));
}

function render(section, s) {
  document.title = s.listing.name + ", " + period(s) + " – stayledger";
  const owners = s.shares.map((p) => p.name + (s.shares.length > 1 ? " (" + percent(p.split) + ")" : "")).join(", ");
  const file = asking(() => ({ path: "/statements/pdf", label: s.listing.name + ", " + period(s), selection: { statementIds: [s.id] } }), { now: "PDF", later: "PDF in background" });
  section.replaceChildren(...[
    el("p", { class: "back" }, el("a", { href: "#statements/" + s.startAt.slice(0, 7) }, "‹ Statements")),
    el("div", { class: "head" },
      el("div", {}, el("h1", { id: "statement-title", tabindex: "-1" }, s.listing.name), el("p", { class: "period" }, period(s) + " ", state(s)), el("p", { class: "sender" }, owners), el("a", { href: "#trail/statement/" + s.id }, "History")),
      file.buttons),
    file.outcome, issues(s), headline(s), summary(s), sections(s), payouts(s), shares(s), documents(s),
  ].flat(2).filter(Boolean));
}

export const statements = {
  title: "Statements",
  enter(section, wanted) {
    if (!section.firstChild) build(section);
    list(section, wanted || month);
  },
  reset() {
    month = "";
    turn++;
    document.getElementById("month-list")?.replaceChildren();
  },
};

export const statement = {
  title: "Statement",
  async enter(section, id, went) {
    const mine = ++turn;
    const waiting = el("h1", { id: "statement-title", tabindex: "-1" }, "Statement");
    section.replaceChildren(el("p", { class: "back" }, el("a", { href: "#statements" }, "‹ Statements")), waiting, el("p", { class: "lead" }, "Opening…"));
    try {
      const s = await get("/statements/" + encodeURIComponent(id));
      if (mine !== turn) return;
      const focused = document.activeElement === waiting;
      render(section, s);
      if (went && focused) section.querySelector("h1").focus({ preventScroll: true });
      announce(s.listing.name + ", " + period(s));
    } catch (failure) {
      if (over(failure) || mine !== turn) return;
      section.querySelector(".lead").replaceWith(refusal(failure));
    }
  },
  reset() {
    turn++;
  },
};
