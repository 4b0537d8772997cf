// A report or statements in a frame of another product. The code behind the # is exchanged once for a session, which this page keeps in memory
// alone. The frame's owner hears {type: "stayledger.ready"}, {type: "stayledger.resize", height} and {type: "stayledger.expired"}, never data;
// the page listens to no messages.
import { el, money, payouts, period, sections, shares, statuses, summary, table } from "./statement.js";

const allowed = document.querySelector("meta[name=origins]").content.split(" ").filter(Boolean);
const message = document.getElementById("message");
const content = document.getElementById("content");
let session = null;

const problems = {
  UNAUTHORIZED: "This view has ended. Please open it again.",
  NOT_FOUND: "This statement is not available at the moment.",
  offline: "The figures could not be loaded. Please try again.",
};

class Refused extends Error {
  constructor(status, code) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

// post tells the page around this one, by its origin, what happened. Where the browser does not say that origin, each allowed one is tried.
function post(what) {
  const around = location.ancestorOrigins?.[0];
  if (parent !== window) for (const origin of allowed) if (!around || origin === around) parent.postMessage(what, origin);
}

function show(...children) {
  content.replaceChildren(...children.flat(2).filter(Boolean));
  content.hidden = false;
  message.hidden = true;
}

function explain(text) {
  message.hidden = false;
  message.className = "problem";
  message.setAttribute("role", "alert");
  message.textContent = text;
}

// expire takes everything off the page; the page around it can put a new session into the frame.
function expire() {
  session = null;
  content.replaceChildren();
  content.hidden = true;
  explain(problems.UNAUTHORIZED);
  post({ type: "stayledger.expired" });
}

function fail(failure) {
  if (failure.status === 401) return expire();
  explain(problems[failure.code] || problems.offline);
}

async function ask(path, options) {
  const answer = await fetch(path, { cache: "no-store", credentials: "omit", redirect: "error", ...options });
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, body.code);
}

async function read(path, query) {
  if (!session) throw new Refused(401, "UNAUTHORIZED");
  const answer = await ask(path + "?" + new URLSearchParams(query), { headers: { Authorization: "Bearer " + session.accessToken } });
  return answer.json();
}

async function begin() {
  const [, code] = /^#code=([\w-]+)$/.exec(location.hash) || [];
  history.replaceState(null, "", location.pathname); // the code works once, so it is of no use in the address
  const answer = await ask("/embed-sessions/exchange", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code: code || "", sessionId: location.pathname.split("/").pop() }),
  });
  session = await answer.json();
  setTimeout(expire, new Date(session.expiresAt) - new Date(answer.headers.get("Date"))); // by the clock of the service
}

// Statements: the one that the session is bound to, or a list.

function headline(s) {
  const figures = [["Available to the owners", money(s.financials.available, s.currency)], ["Payment", statuses[s.payment.status] || s.payment.status]];
  return el("dl", { class: "headline" }, figures.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

async function openStatement(id, back) {
  try {
    const s = await read("/statements/" + encodeURIComponent(id), { viewAs: "owner" });
    show(
      back && el("button", { type: "button", onclick: back }, "Back to the statements"),
      el("h1", { tabindex: "-1" }, s.listing.name), el("p", { class: "period" }, "Owner statement, " + period(s)),
      headline(s), summary(s), sections(s), payouts(s), shares(s),
    );
    if (back) content.querySelector("h1").focus();
  } catch (failure) {
    fail(failure);
  }
}

async function listStatements() {
  const list = el("ul", { class: "statements" });
  const more = el("button", { type: "button", class: "more", onclick: () => add().catch(fail) }, "Load more");
  const title = el("h1", { tabindex: "-1" }, "Owner statements");
  const back = () => { show(title, list, more); title.focus(); };
  let page = 1;
  let only = null;

  const add = async () => {
    const found = await read("/statements", { status: "published", sort: "-startAt", limit: 100, page });
    only = page === 1 && found.pagination.total === 1 ? found.data[0].id : null;
    page = found.pagination.nextPage;
    more.hidden = !page;
    list.append(...found.data.map((s) => el("li", {}, el("button", { type: "button", onclick: () => openStatement(s.id, back) },
      el("span", {}, period(s) + ", " + s.listing.name), el("span", { class: "amount" }, money(s.financials.available, s.currency))))));
  };

  await add();
  if (only) return openStatement(only);
  show(title, list.firstChild ? list : el("p", {}, "No statement is published."), more);
}

// Reports: the trial balance of a period.

const columns = [{ name: "Account" }, { name: "Beginning", amount: true }, { name: "Debit", amount: true }, { name: "Credit", amount: true }, { name: "Ending", amount: true }];

async function showReport() {
  const today = new Date();
  const text = (date) => new Date(date - date.getTimezoneOffset() * 60000).toISOString().slice(0, 10); // by the user's clock
  const from = el("input", { type: "date", id: "from", value: text(new Date(today.getFullYear(), 0, 1)), onchange: () => load() });
  const to = el("input", { type: "date", id: "to", value: text(today), onchange: () => load() });
  const figures = el("div", {});
  let turn = 0;

  const load = async () => {
    const mine = ++turn;
    try {
      const found = await read("/reports/trial-balance", { startDate: from.value, endDate: to.value });
      if (mine !== turn) return;
      const amounts = (f) => [f.beginning, f.debit, f.credit, f.ending].map((cents) => money(cents, found.currency));
      figures.replaceChildren(table("Trial balance", columns, found.data.map((r) => [[r.account.code, r.account.name].filter(Boolean).join(" "), ...amounts(r)]), ["Total", ...amounts(found.totals)]));
      message.hidden = true;
    } catch (failure) {
      if (mine === turn) fail(failure);
    }
  };

  await load();
  if (!session) return;
  content.replaceChildren(el("h1", {}, "Trial balance"), el("div", { class: "period-form" },
    el("div", {}, el("label", { for: "from" }, "From"), from), el("div", {}, el("label", { for: "to" }, "To"), to)), figures);
  content.hidden = false;
}

async function start() {
  try {
    await begin();
    await (session.view === "report" ? showReport() : listStatements());
    post({ type: "stayledger.ready" });
  } catch (failure) {
    fail(failure);
  }
  new ResizeObserver(() => post({ type: "stayledger.resize", height: Math.ceil(document.body.getBoundingClientRect().height) })).observe(document.body);
}

start();
