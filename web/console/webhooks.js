// The webhooks of the team, and what was sent to one of them: each message with what the receiver answered, to send again.
import { el, row as cells, table } from "./statement.js";
import { badge } from "./operations.js";
import { announce, busy, get, moment, over, post, told, words } from "./service.js";

const page = 25;
const columns = [{ name: "Receiver" }, { name: "Status" }, { name: "Tells of" }, { name: "Since" }];
const sent = [{ name: "Message" }, { name: "Status" }, { name: "Sent" }, { name: "Answer" }];
const signs = { pending: "○", active: "✓", disabled: "✕", delivering: "◐", succeeded: "✓", failed: "✕", exhausted: "✕" };
// What has gone wrong is shown as a failed operation is.
const looks = { active: "completed", succeeded: "completed", disabled: "failed", failed: "failed", exhausted: "failed" };
const state = (status) => badge(looks[status] || status, signs[status] || "•", words(status));
const time = (text) => (text ? el("time", { datetime: text }, moment(text)) : "");

const address = (w) => el("div", {}, el("a", { href: "#webhooks/" + w.id }, w.url), w.description ? el("span", { class: "about" }, w.description) : null);
const health = (w) => el("div", {}, state(w.status), w.disabledReason ? el("span", { class: "about" }, words(w.disabledReason)) : null);

// list shows all webhooks, 250 at most: a team has no more than 50 that are not disabled.
async function list(section) {
  const body = el("div", { "aria-busy": "true" }, el("p", { class: "lead" }, "Opening…"));
  section.replaceChildren(el("h1", { id: "webhooks-title", tabindex: "-1" }, "Webhooks"), body);
  try {
    const found = await get("/webhooks", { limit: 250, sort: "-createdAt" });
    body.removeAttribute("aria-busy");
    const all = table("Webhooks, newest first", columns, found.data.map((w) => [address(w), health(w), w.eventTypes.join(", "), time(w.createdAt)]));
    all.classList.add("wide");
    body.replaceChildren(found.data.length ? all : el("p", { class: "empty" }, "The team has no webhooks. POST /webhooks makes one."));
  } catch (failure) {
    if (!over(failure)) body.replaceChildren(...told(failure));
  }
}

// answer is what the receiver said to the last attempt.
function answer(d) {
  const parts = [d.response && d.response.status + " in " + d.response.durationMs + " ms", d.failure && words(d.failure)].filter(Boolean);
  return el("div", { class: "product" }, el("p", {}, parts.join(" · ")),
    d.nextAttemptAt ? el("p", { class: "about" }, "again ", time(d.nextAttemptAt)) : null);
}

// message is a row with the payload and the answer behind a summary, and a button that sends it again.
function message(d, again) {
  const problem = el("div", { class: "refusal", role: "status" });
  const button = el("button", { type: "button", onclick: () => busy(button, () => again(d, problem)) }, "Send again");
  return [
    el("div", {}, el("details", {}, el("summary", {}, d.eventType),
      el("pre", { tabindex: "0", "aria-label": "Message" }, JSON.stringify(d.payload, null, 2)),
      d.response?.body ? el("pre", { tabindex: "0", "aria-label": "Answer" }, d.response.body) : null, button, problem)),
    el("div", {}, state(d.status), el("span", { class: "about" }, d.attempts === 1 ? "1 attempt" : d.attempts + " attempts")),
    el("div", {}, time(d.attemptedAt || d.createdAt)), answer(d),
  ];
}

// one shows a webhook with its messages, newest first. What is shown stays until it was read anew.
async function one(section, id) {
  const path = "/webhooks/" + encodeURIComponent(id);
  const title = el("h1", { id: "webhooks-title", tabindex: "-1" }, "Webhook");
  const about = el("div", {}, el("p", { class: "lead" }, "Opening…"));
  const outcome = el("div", { class: "refusal", role: "status" });
  const messages = el("div", {});
  let cursor = null;
  const start = async (at, place) => {
    try {
      const started = await post(at, {});
      place.replaceChildren(el("p", { class: "about" }, "Started: ", el("a", { href: "#operations" }, "operation " + started.operationId)));
      announce("Started");
    } catch (failure) {
      if (!over(failure)) place.replaceChildren(...told(failure));
    }
  };
  const again = (d, place) => start("/webhook-deliveries/" + d.id + "/replay", place);
  const load = async () => {
    try {
      const [w, found] = await Promise.all([get(path), get(path + "/deliveries", { limit: page })]);
      title.textContent = w.url;
      about.replaceChildren(health(w), el("p", { class: "about" }, w.eventTypes.join(", ")));
      const all = table("Messages, newest first", sent, found.data.map((d) => message(d, again)));
      all.classList.add("wide"); // cards on a phone
      messages.replaceChildren(found.data.length ? all : el("p", { class: "empty" }, "Nothing was sent yet."));
      cursor = found.page.nextCursor;
      more.hidden = !cursor;
    } catch (failure) {
      if (!over(failure)) about.replaceChildren(...told(failure));
    }
  };
  const test = el("button", { type: "button", class: "main", onclick: () => busy(test, () => start(path + "/test", outcome)) }, "Send a test");
  const anew = el("button", { type: "button", onclick: () => busy(anew, load) }, "Refresh");
  const more = el("button", { type: "button", hidden: true, onclick: () => busy(more, async () => {
    try {
      const next = await get(path + "/deliveries", { limit: page, cursor });
      messages.querySelector("tbody").append(...next.data.map((d) => cells(sent, message(d, again))));
      cursor = next.page.nextCursor;
      more.hidden = !cursor;
      announce(next.data.length + " more messages");
    } catch (failure) {
      if (!over(failure)) outcome.replaceChildren(...told(failure));
    }
  }) }, "Load more");
  section.replaceChildren(el("p", { class: "back" }, el("a", { href: "#webhooks" }, "‹ Webhooks")), title, about,
    el("div", { class: "buttons" }, test, anew, el("a", { href: "#trail/webhook/" + id }, "History")), outcome, messages, more);
  await load();
}

export const webhooks = {
  title: "Webhooks",
  enter(section, id) {
    return id ? one(section, id) : list(section);
  },
  reset() {
    document.getElementById("webhooks").replaceChildren();
  },
};
