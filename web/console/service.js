// The service as the console calls it: the key and the team of the session, failures of the contract, files.
import { el } from "./statement.js";

// The key lives in this object alone, unless the user chose to stay signed in. The team is null until one is chosen, and empty when the key
// reaches one whose id it may not read.
export const session = { key: "", team: null, teams: [], until: new AbortController() };

// anew ends everything that is under way for the key and team before.
export function anew() {
  session.until.abort();
  session.until = new AbortController();
}

// Failure is a refusal of the service, or code OFFLINE when it did not answer.
export class Failure extends Error {
  constructor(status, body, headers) {
    super(body.message || "The service answered with status " + status);
    this.status = status;
    this.code = body.code || "HTTP_" + status;
    this.issues = body.issues || [];
    this.context = body.context;
    this.request = headers?.get("X-Request-Id") || "";
    this.wait = Number(headers?.get("Retry-After")) || 0; // seconds
  }
}

const offline = () => new Failure(0, { code: "OFFLINE", message: "The service cannot be reached. Check the connection and try again." });

// over tells that the session ended while something was under way, which concerns nobody any more.
export const over = (failure) => failure.name === "AbortError";

export async function send(path, options = {}) {
  const until = session.until.signal;
  const headers = { ...options.headers, "x-api-key": session.key };
  if (session.team) headers["x-team-id"] = session.team;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error", signal: until });
  } catch (failure) {
    if (over(failure)) throw failure;
    throw offline();
  }
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({}));
  until.throwIfAborted();
  if (answer.status === 401 && session.key) dispatchEvent(new CustomEvent("refused"));
  throw new Failure(answer.status, body, answer.headers);
}

export async function read(answer) {
  const until = session.until.signal;
  const body = await answer.json();
  until.throwIfAborted();
  return body;
}

// query writes a selection as a GET has it: lists are separated by commas.
export function query(selection) {
  const text = new URLSearchParams(Object.entries(selection).map(([name, value]) => [name, String(value)])).toString();
  return text && "?" + text;
}

export const get = async (path, selection = {}) => read(await send(path + query(selection)));

// post sends a body or a form once: a click that got no answer is repeated under the same idempotency key, so it starts nothing twice.
export async function post(path, body) {
  const isForm = body instanceof FormData;
  const text = isForm ? body : JSON.stringify(body);
  const name = session.team + path + (isForm ? [...body.values()].map((v) => (v.name ? [v.name, v.size, v.lastModified] : v)) : text);
  const key = unanswered.get(name) || Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  unanswered.set(name, key);
  try {
    const answer = await read(await send(path, { method: "POST", body: text, headers: { ...(isForm ? {} : { "Content-Type": "application/json" }), "Idempotency-Key": key } }));
    unanswered.delete(name);
    return answer;
  } catch (failure) {
    if (failure.code !== "OFFLINE") unanswered.delete(name);
    throw failure;
  }
}

const unanswered = new Map();

let described;

// description is what the service publishes about itself; forms and filters are made from it.
export async function description() {
  described ||= fetch("/openapi.json", { credentials: "omit" }).then((answer) => (answer.ok ? answer.json() : Promise.reject(new Failure(answer.status, {}))));
  try {
    return await described;
  } catch (failure) {
    described = undefined;
    throw failure instanceof Failure ? failure : offline();
  }
}

// filename is what a Content-Disposition header calls a file.
export function filename(header, fallback) {
  const coded = /filename\*=utf-8''([^;]+)/i.exec(header || "");
  const plain = /filename=(?:"((?:[^"\\]|\\.)*)"|([^;]+))/i.exec(header || "");
  try {
    if (coded) return decodeURIComponent(coded[1]);
  } catch {
    // A name that is no UTF-8 is not worth failing for.
  }
  return plain ? (plain[1] ?? plain[2]).replace(/\\(.)/g, "$1").trim() : fallback;
}

export function follow(url, name) {
  const link = el("a", { href: url, download: name ?? "" });
  document.body.append(link);
  link.click();
  link.remove();
}

export const save = (file) => saveFrom("/files/" + encodeURIComponent(file) + "/download");

// saveFrom downloads a file with the key, which a link could not send, and gives its name.
export async function saveFrom(path) {
  const answer = await send(path);
  const name = filename(answer.headers.get("Content-Disposition"), "download");
  const url = URL.createObjectURL(await answer.blob());
  follow(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 60000);
  return name;
}

// told is a failure for a person: what happened, and below what support asks for.
export function told(failure) {
  if (!(failure instanceof Failure)) return [el("p", {}, "Something went wrong on this page. Load it again.")];
  const scopes = failure.status === 403 && failure.context?.requiredScopes;
  const elsewhere = failure.status === 421 && failure.context?.apiBaseUrl;
  let text = failure.message.replace(/\.?$/, ".");
  if (scopes) text = "The key is not allowed to do this: it needs " + scopes.join(", ") + ".";
  if (elsewhere) text = "This team is kept in another region. Use the console at " + elsewhere + "/console.";
  const about = [failure.code, failure.request && "request " + failure.request].filter(Boolean).join(" · ");
  return [el("p", {}, text), failure.code === "OFFLINE" ? null : el("p", { class: "about" }, about)].filter(Boolean);
}

// refusal shows a failure where what failed would be.
export const refusal = (failure) => el("div", { class: "problem", role: "alert" }, told(failure));

// moment writes an instant for a person.
export const moment = (text) => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" }).format(new Date(text));

// words writes a name such as listingIds or csv-import for a person.
export function words(name) {
  const parts = name.replace(/([a-z0-9])([A-Z])/g, "$1-$2").toLowerCase().replace(/^is-/, "").split("-");
  const text = parts.map((word) => (/^(ach|csv|gl|id|pdf|pms|vri)$/.test(word) ? word.toUpperCase() : word === "ids" ? "IDs" : word)).join(" ");
  return text[0].toUpperCase() + text.slice(1);
}

const news = document.getElementById("news");

// announce tells those who do not see the page change.
export function announce(text) {
  news.textContent = text;
}

// busy runs the work of a button once at a time; the button keeps the focus, which a disabled one would lose.
export async function busy(button, work) {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  try {
    await work();
  } finally {
    button.removeAttribute("aria-disabled");
  }
}
