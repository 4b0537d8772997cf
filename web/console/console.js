// The console: signing in, choosing a team, and going from place to place. The part of the address behind the # says where one is.
import { el } from "./statement.js";
import { anew, announce, busy, Failure, get, over, session, told } from "./service.js";

const by = (id) => document.getElementById(id);
const store = { key: "stayledger.key", team: "stayledger.team" };
// The places: the code of one is fetched when somebody goes there.
const places = {
  operations: async () => (await import("./operations.js")).operations,
  imports: async () => (await import("./imports.js")).imports,
  exports: async () => (await import("./exports.js")).exportForms,
  statements: async () => (await import("./statements.js")).statements,
  statement: async () => (await import("./statements.js")).statement,
  monthend: async () => (await import("./monthend.js")).monthEnd,
  webhooks: async () => (await import("./webhooks.js")).webhooks,
  trail: async () => (await import("./trail.js")).trail,
};
for (const id in places) by("main").append(el("section", { id, "aria-labelledby": id + "-title", hidden: true }));
const visited = {};
let place = null;

function show(id) {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== id;
}

// go shows what the address names. Who went there gets the focus on its heading; who loads the page stays where the browser is.
async function go(went) {
  if (session.team === null) return;
  const [name, ...rest] = location.hash.slice(1).split("/");
  const id = Object.hasOwn(places, name) ? name : "operations";
  if (place !== id) visited[place]?.leave?.();
  place = id;
  for (const link of by("places").children) {
    if (link.hash === "#" + id || (id === "statement" && link.hash === "#statements")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const section = by(id);
  try {
    visited[id] ||= await places[id]();
  } catch {
    section.replaceChildren(el("p", { class: "problem", role: "alert" }, "This part of the console could not be loaded. Check the connection and load the page again."));
    return show(id);
  }
  if (place !== id || session.team === null) return; // somewhere else by now
  show(id);
  document.title = visited[id].title + " – stayledger";
  visited[id].enter(section, rest.join("/"), went);
  if (went) {
    scrollTo(0, 0);
    section.querySelector("h1")?.focus({ preventScroll: true });
  }
}

function forget() {
  sessionStorage.removeItem(store.key);
  sessionStorage.removeItem(store.team);
}

function reset() {
  anew();
  for (const p of Object.values(visited)) p.reset?.();
}

function signOut(reason) {
  visited[place]?.leave?.();
  place = null;
  reset();
  Object.assign(session, { key: "", team: null, teams: [] });
  forget();
  for (const id of Object.keys(places)) by(id).replaceChildren();
  by("team").replaceChildren();
  by("team-name").textContent = "";
  by("account").hidden = by("places").hidden = true;
  by("stay").checked = false;
  history.replaceState(null, "", location.pathname);
  signInView(reason);
  by("key").focus();
}

function signInView(reason) {
  document.title = "Sign in – stayledger";
  by("choose").hidden = true;
  by("sign-in-form").hidden = false;
  by("key").value = "";
  problem(reason);
  show("sign-in");
}

function problem(content) {
  const place = by("sign-in-problem");
  place.replaceChildren(...[content || []].flat());
  place.hidden = !content;
  if (content) by("key").setAttribute("aria-invalid", "true");
  else by("key").removeAttribute("aria-invalid");
}

// teams are all that the key reaches, by name. A key that may not list them works if it reaches one.
async function teams() {
  const found = [];
  try {
    for (let page = 1; page; ) {
      const part = await get("/teams", { page, limit: 250, sort: "name" });
      found.push(...part.data.filter((t) => t.status !== "deleted"));
      page = part.pagination.nextPage;
    }
  } catch (failure) {
    if (failure.status !== 403) throw failure;
    await get("/operations", { limit: 1 });
    return [{ id: "", name: "Your team" }];
  }
  return found;
}

async function signIn(key, loaded) {
  reset();
  Object.assign(session, { key, team: null, teams: [] });
  try {
    session.teams = await teams();
  } catch (failure) {
    if (over(failure)) return;
    session.key = "";
    if (failure.status === 401) forget();
    signInView(failure.status === 401 ? "The service does not know this key, or it has expired or was revoked." : told(failure));
    by("key").focus();
    return;
  }
  if (session.teams.length === 0) {
    session.key = "";
    signInView("This key reaches no team.");
    by("key").focus();
  } else if (session.teams.length === 1) {
    open(session.teams[0].id, loaded);
  } else if (session.teams.some((t) => t.id === sessionStorage.getItem(store.team))) {
    open(sessionStorage.getItem(store.team), loaded);
  } else {
    by("sign-in-form").hidden = true;
    by("choose-team").replaceChildren(...options());
    by("choose").hidden = false;
    by("choose-team").focus();
  }
}

const options = () => session.teams.map((t) => el("option", { value: t.id }, t.name));

function open(team, loaded) {
  by("key").value = "";
  problem();
  reset();
  session.team = team;
  forget();
  if (by("stay").checked) {
    sessionStorage.setItem(store.key, session.key);
    sessionStorage.setItem(store.team, team);
  }
  const several = session.teams.length > 1;
  const name = session.teams.find((t) => t.id === team)?.name || "";
  by("team").replaceChildren(...(several ? options() : []));
  by("team").value = team;
  by("team").hidden = !several;
  by("team-name").hidden = several;
  by("team-name").textContent = name;
  by("account").hidden = by("places").hidden = false;
  announce("Signed in: " + name);
  go(!loaded);
}

by("sign-in-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const key = by("key").value.trim();
  if (!key) {
    problem("Enter the key.");
    by("key").focus();
    return;
  }
  if (!/^[\x21-\x7e]+$/.test(key)) { // a header could not carry it
    problem("This is not a key: keys have neither spaces nor letters with accents.");
    by("key").focus();
    return;
  }
  busy(by("sign-in-button"), () => signIn(key));
});
by("choose").addEventListener("submit", (event) => {
  event.preventDefault();
  open(by("choose-team").value);
});
by("team").addEventListener("change", () => {
  const chosen = by("team").value;
  visited[place]?.leave?.();
  place = null;
  const [name, record] = location.hash.split("/");
  if (record) history.replaceState(null, "", name === "#statement" ? "#statements" : name); // it is the other team's
  open(chosen);
  by("team").focus();
});
by("sign-out").addEventListener("click", () => signOut());
by("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part behind the # is the place
  by("main").focus();
});
addEventListener("refused", () => session.team !== null && signOut("The key is no longer valid. Sign in again."));
addEventListener("hashchange", () => go(true));
addEventListener("pageshow", (event) => event.persisted && !sessionStorage.getItem(store.key) && session.key && signOut());

const kept = sessionStorage.getItem(store.key);
if (kept) {
  by("stay").checked = true;
  signIn(kept, true);
} else {
  signInView();
}
