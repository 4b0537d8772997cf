// The end of a month: its steps in the order of closing it, and what is open of each.
import { day, el, money, table } from "./statement.js";
import { announce, busy, get, over, refusal, told } from "./service.js";
import { isMonth, monthName, monthPicker, usual } from "./months.js";
import { badge } from "./operations.js";

document.head.append(el("link", { rel: "stylesheet", href: "/console/monthend.css" }));

const names = {
  systemsRead: "Systems are read", bankMatched: "The bank is matched", journalsCurrent: "Journals are current", heldBackSettled: "Nothing is held back",
  linesAssigned: "Each line has an account", statementsReviewed: "Statements are reviewed", statementsPublished: "Statements are published",
  ownersPaid: "Owners are paid", trustReconciled: "The trust is reconciled", booksClosed: "The books are closed",
};
const states = { done: ["✓", "Done"], open: ["○", "Open"], waiting: ["…", "Waits"] };

let month = "", turn = 0;

function travel(to) {
  history.pushState(null, "", "#monthend/" + to);
  load(document.getElementById("monthend"), to);
}

function build(section) {
  section.replaceChildren(
    el("h1", { id: "monthend-title", tabindex: "-1" }, "Month end"),
    el("p", { class: "lead" }, "What is open of a month, in the order of closing it. Closing the books shows the same."),
    monthPicker("monthend-month", () => month, travel), el("div", { id: "steps" }));
}

async function load(section, wanted) {
  const place = section.querySelector("#steps");
  month = isMonth(wanted) ? wanted : usual();
  section.querySelector("#monthend-month").value = month;
  const mine = ++turn;
  place.setAttribute("aria-busy", "true");
  try {
    const found = await get("/month-end", { month });
    if (mine !== turn) return;
    place.replaceChildren(...shown(found));
    announce(monthName(month) + ": " + count(found));
  } catch (failure) {
    if (over(failure) || mine !== turn) return;
    place.replaceChildren(refusal(failure));
  }
  place.removeAttribute("aria-busy");
}

const count = (m) => m.steps.filter((s) => s.status === "open").length + " of " + m.steps.length + " steps are open";

function shown(m) {
  const about = m.isDone ? monthName(m.month) + " is closed, and nothing is open." : count(m) + "." + (m.isOver ? "" : " The month is not over yet.");
  return [el("p", { class: "counts" }, about), el("ol", { class: "steps" }, m.steps.map(stepOf))];
}

function stepOf(s) {
  const blocks = s.blocks.length > 0 && el("p", { class: "hint" }, "Before that, these cannot be done: " + s.blocks.map((b) => names[b] || b).join(", ") + ".");
  return el("li", { "data-step": s.step }, el("div", { class: "head" }, el("h2", {}, names[s.step] || s.step), badge(s.status, ...(states[s.status] || ["•", s.status]))), s.items.map(itemOf), blocks);
}

function itemOf(i) {
  const place = el("div", { class: "behind" });
  const show = el("button", { type: "button", "aria-expanded": "false", onclick: () => busy(show, () => behind(show, place, i)) });
  label(show, "Show", i);
  const figures = [i.count > 1 || i.centTotal === null ? String(i.count) : null, i.centTotal === null ? null : money(i.centTotal, i.currency)].filter(Boolean).join(" · ");
  return el("div", { class: "item" }, el("p", { class: i.severity }, i.message + " "), el("p", { class: "figure" }, figures), i.code !== "booksOpen" && show, place);
}

// label has the word that is seen and, for those who hear it, what it is about.
const label = (button, word, i) => button.replaceChildren(word, el("span", { class: "unseen" }, ": " + i.message));

// behind shows or hides the records of an item.
async function behind(show, place, i) {
  const isOpen = show.getAttribute("aria-expanded") === "true";
  place.replaceChildren();
  show.setAttribute("aria-expanded", String(!isOpen));
  label(show, isOpen ? "Show" : "Hide", i);
  if (isOpen) return;
  try {
    const found = await get(i.list);
    place.append(records(found.warnings ? await placesOf(found, i) : found.data, i));
  } catch (failure) {
    if (!over(failure)) place.append(el("div", { class: "refusal", role: "alert" }, told(failure)));
  }
}

const columns = [{ name: "Date" }, { name: "Record" }, { name: "Amount", amount: true }];

function records(found, i) {
  const rows = found.slice(0, 50);
  if (!rows.length) return el("p", { class: "hint" }, "Nothing is open any more: load the page again.");
  const more = i.count - rows.length;
  return el("div", {}, table(i.message, columns, rows.map(cells)), more > 0 && el("p", { class: "hint" }, "and " + more + " more at " + i.list.split("?")[0]));
}

// placesOf are the places of a finding of the trust, with the names of the stays and houses that it names by id.
async function placesOf(report, i) {
  const items = report.warnings.find((w) => w.code === i.code)?.items.slice(0, 50) || [];
  const named = async (path, field) => {
    const ids = [...new Set(items.map((p) => p[field]).filter(Boolean))];
    return ids.length ? new Map((await get(path, { ids: ids.join(","), limit: 100 })).data.map((r) => [r.id, r])) : new Map();
  };
  const [stays, houses, accounts] = await Promise.all([named("/reservations", "reservationId"), named("/listings", "listingId"), named("/accounts", "accountId")]);
  return items.map((p) => ({
    since: p.since, listing: houses.get(p.listingId), guestName: stays.get(p.reservationId)?.guestName, name: accounts.get(p.accountId)?.name,
    amount: p.figure?.centTotal ?? p.centTotal, currency: report.currency, id: p.transactionId || p.journalId || p.bankRuleId,
  }));
}

// cells are what a person knows a record of any list by.
function cells(r) {
  const date = r.date || r.checkIn || r.startAt || r.since?.slice(0, 10) || r.createdAt?.slice(0, 10);
  const text = [r.listing?.name, r.guestName, r.confirmationCode, r.message, r.description, r.name, r.reason, r.lock?.reason, r.sourceType, r.field].filter(Boolean).slice(0, 2).join(", ");
  const owners = r.amounts?.find((a) => a.party === "owners");
  const amount = r.financials?.available ?? r.financials?.total ?? r.amount ?? r.total ?? owners?.centTotal ?? r.context?.centTotal;
  const currency = r.currency || owners?.currency || r.context?.currency;
  const name = r.shares ? el("a", { href: "#statement/" + r.id }, text) : text || r.shortRef || r.id || "–";
  return [/^\d{4}-\d{2}-\d{2}$/.test(date || "") ? day(date) : "–", name, typeof amount === "number" && currency ? money(amount, currency) : "–"];
}

export const monthEnd = {
  title: "Month end",
  enter(section, wanted) {
    if (!section.firstChild) build(section);
    load(section, wanted || month);
  },
  reset() {
    month = "";
    turn++;
    document.getElementById("steps")?.replaceChildren();
  },
};
