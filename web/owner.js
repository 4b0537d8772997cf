// The statement of an owner who follows a link: the part behind the # is exchanged for a session, which this page keeps in memory alone.
// The functions of statement.js stand before it.
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

function render(s) {
  document.title = s.listing.name + ", " + period(s) + " – Owner statement";
  article.replaceChildren(...[
    el("div", { class: "head" },
      el("header", {}, el("p", { class: "sender" }, session.teamName), el("h1", {}, s.listing.name), el("p", { class: "period" }, "Owner statement, " + period(s))),
      el("button", { type: "button", class: "main", onclick: () => print() }, "Print")),
    s.status === "published" ? null : el("p", { class: "note" }, "This is a draft: its figures can still change."),
    headline(s), summary(s), sections(s), payouts(s), shares(s, session.contactId), files(s),
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
