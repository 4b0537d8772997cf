// The search, the tabs of the examples and the links of former pages. Without this script all text is there, and the contents lead to it.
const $ = (id) => document.getElementById(id);
const make = (tag, fields = {}, ...children) => {
  const e = Object.assign(document.createElement(tag), fields);
  e.append(...children.filter(Boolean));
  return e;
};
const say = (text) => { $("said").textContent = text; };

// A link such as /docs#/listTeams, or /docs#listTeams as errors carry it, leads to the page of the operation.
function follow() {
  const id = decodeURIComponent(location.hash.slice(1)).replace(/^\//, "");
  if (/^[A-Za-z0-9]+$/.test(id) && document.querySelector(`.routes li[id="${id}"]`)) location.replace("/docs/operations/" + id);
}
if (document.body.dataset.kind === "overview") {
  addEventListener("hashchange", follow);
  follow();
}

// The search, as the page /docs/search has it, while somebody types.
const box = $("search"), found = $("found");
let hits = [], at = -1, asked = 0, answered = "";
async function look(text) {
  const answer = await fetch("/docs/search.json?q=" + encodeURIComponent(text));
  if (!answer.ok) throw new Error("search");
  return (await answer.json()).map((h) => ({ href: h.address, title: h.title, why: h.note ? `${h.kind} · ${h.note}` : h.kind, snippet: h.snippet }));
}

function show() {
  found.replaceChildren(...hits.map((h, i) => {
    const row = make("li", { id: "found-" + i, role: "option", onclick: () => location.assign(h.href) },
      h.title, make("span", { className: "why", textContent: h.why }),
      make("span", { className: "why" }, ...(h.snippet || []).map((s) => make(s.marked ? "mark" : "span", { textContent: s.text }))));
    row.setAttribute("aria-selected", String(i === at));
    return row;
  }));
  if (!hits.length) found.append(make("li", { className: "none", textContent: "Nothing is found." }));
  found.hidden = !box.value.trim();
  box.setAttribute("aria-expanded", String(!found.hidden));
  if (at >= 0 && !found.hidden) {
    box.setAttribute("aria-activedescendant", "found-" + at);
    found.children[at].scrollIntoView({ block: "nearest" });
  } else box.removeAttribute("aria-activedescendant");
}

async function search() {
  const text = box.value.trim(), mine = ++asked;
  let answer = [];
  try {
    if (text) answer = await look(text);
  } catch {
    say("The search cannot be reached.");
    return;
  }
  if (mine !== asked) return; // somebody has typed on
  hits = answer;
  answered = text;
  at = hits.length ? 0 : -1;
  show();
  if (text) say(hits.length === 1 ? "1 found" : `${hits.length} found`);
}
// The best page of what is typed, which may not be answered yet.
async function go() {
  if (answered !== box.value.trim()) await search();
  if (hits[at]) location.assign(hits[at].href);
}
const close = () => { asked++; found.hidden = true; box.setAttribute("aria-expanded", "false"); box.removeAttribute("aria-activedescendant"); };

box.role = "combobox";
box.ariaExpanded = "false";
box.ariaAutoComplete = "list";
box.setAttribute("aria-controls", "found");
box.addEventListener("input", search);
box.addEventListener("keydown", (e) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (step && hits.length) {
    at = (at + step + hits.length) % hits.length;
    show();
  } else if (e.key === "Escape") close();
  else return;
  e.preventDefault();
});
box.form.addEventListener("submit", (e) => {
  if (found.hidden) return; // the page of the search
  e.preventDefault();
  go();
});
box.addEventListener("blur", () => setTimeout(close, 200));
addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || /^(input|textarea|select)$/i.test(e.target.tagName)) return;
  e.preventDefault();
  box.focus();
  box.select();
});

// Examples as tabs; the language that was chosen last is kept for the tab of the browser.
const languages = [...document.querySelectorAll(".languages")];
const keep = "stayledger.language";
function choose(slug, focus) {
  for (const group of languages) {
    if (!group.querySelector(".language." + slug)) continue;
    for (const one of group.querySelectorAll(".language")) one.hidden = !one.classList.contains(slug);
    for (const tab of group.querySelectorAll("[role=tab]")) {
      const chosen = tab.dataset.language === slug;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      if (chosen && focus === group) tab.focus();
    }
  }
}
languages.forEach((group, n) => {
  const sections = [...group.querySelectorAll(".language")];
  const tabs = make("div", { className: "tabs" });
  const list = make("div", { role: "tablist", ariaLabel: "Language" });
  for (const section of sections) {
    const slug = section.classList[1], heading = section.querySelector("h3");
    section.id = `example-${n}-${slug}`;
    section.role = "tabpanel";
    section.ariaLabel = heading.textContent;
    const tab = make("button", { type: "button", role: "tab", textContent: heading.textContent, onclick: () => { choose(slug); sessionStorage.setItem(keep, slug); } });
    tab.dataset.language = slug;
    tab.setAttribute("aria-controls", section.id);
    list.append(tab);
    heading.remove();
  }
  list.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const all = [...list.children], next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    choose(next.dataset.language, group);
    sessionStorage.setItem(keep, next.dataset.language);
  });
  const copy = make("button", { type: "button", className: "copy", textContent: "Copy", onclick: async () => {
    const shown = sections.find((s) => !s.hidden);
    try {
      await navigator.clipboard.writeText(shown.querySelector("code").textContent);
      say("Copied");
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(shown.querySelector("code"));
      copy.textContent = "Selected";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 2000);
  } });
  tabs.append(list, copy);
  group.prepend(tabs);
});
if (languages.length) choose(sessionStorage.getItem(keep) || "curl");

// The current page in the contents.
document.querySelector(".contents [aria-current]")?.scrollIntoView({ block: "center" });
scrollTo(0, location.hash ? scrollY : 0);
