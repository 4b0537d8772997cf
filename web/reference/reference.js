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

// The search.
const box = $("search"), found = $("found");
let index, reading, hits = [], at = -1;
const read = () => (reading ??= fetch(document.body.dataset.search).then((r) => {
  if (!r.ok) throw new Error("search");
  return r.json();
}).then((x) => { index = x; }).catch(() => { reading = undefined; }));

// How well a text fits: whole, at its start, at the start of a word in it, anywhere.
function fit(text, word) {
  const lower = text.toLowerCase(), i = lower.indexOf(word);
  if (i < 0) return 0;
  if (lower === word) return 40;
  if (i === 0) return 20;
  return /[^a-z0-9]/.test(lower[i - 1]) || /[A-Z]/.test(text[i]) ? 12 : 5;
}

function look(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const kinds = [["reason", index.reasons, 3], ["parameter", index.parameters, 1.5], ["field", index.fields, 1]];
  const per = words.map((word) => {
    const points = new Map();
    const give = (i, n, why) => { if (n > (points.get(i)?.n || 0)) points.set(i, { n, why }); };
    index.operations.forEach(([id, method, path, summary, tag], i) => {
      give(i, Math.max(fit(id, word) * 3, fit(path, word) * 3, fit(summary, word) * 2.5, fit(tag, word) * 2, method.toLowerCase() === word ? 20 : 0));
    });
    for (const [kind, names, weight] of kinds) for (const [name, places] of Object.entries(names)) {
      const n = fit(name, word) * weight;
      if (n) places.forEach((i) => give(i, n, `${kind} ${name}`));
    }
    index.chapters.forEach(([, title, heading], i) => give("c" + i, Math.max(heading ? fit(heading, word) * 3 : fit(title, word) * 4)));
    for (const reason of Object.keys(index.reasons)) give("r" + reason, fit(reason, word) * 3.5);
    return points;
  });
  const all = [...(per[0]?.keys() || [])].filter((i) => per.every((p) => p.has(i)));
  return all.map((i) => ({ i, n: per.reduce((sum, p) => sum + p.get(i).n, 0), why: [...new Set(per.map((p) => p.get(i).why).filter(Boolean))].join(", ") }))
    .sort((a, b) => b.n - a.n).slice(0, 40).map(({ i, why }) => {
      if (typeof i === "number") {
        const [id, method, path, summary] = index.operations[i];
        return { href: "/docs/operations/" + id, method, title: summary, why: why ? `${path} · ${why}` : path };
      }
      if (i[0] === "r") return { href: "/docs/chapters/errors#" + i.slice(1), title: i.slice(1), why: "reason of errors" };
      const [href, title, heading] = index.chapters[Number(i.slice(1))];
      return { href, title: heading || title, why: heading ? title : "chapter" };
    });
}

function show() {
  found.replaceChildren(...hits.map((h, i) => {
    const row = make("li", { id: "found-" + i, role: "option", onclick: () => location.assign(h.href) },
      h.method && make("span", { className: "m " + h.method.toLowerCase(), textContent: h.method }), h.method && " ", h.title, make("span", { className: "why", textContent: h.why }));
    row.setAttribute("aria-selected", String(i === at));
    return row;
  }));
  if (!hits.length) found.append(make("li", { className: "none", textContent: "Nothing is called like that." }));
  found.hidden = !box.value.trim() || !index;
  box.setAttribute("aria-expanded", String(!found.hidden));
  if (at >= 0 && !found.hidden) {
    box.setAttribute("aria-activedescendant", "found-" + at);
    found.children[at].scrollIntoView({ block: "nearest" });
  } else box.removeAttribute("aria-activedescendant");
}

async function search() {
  await read();
  if (!index) { say("The search cannot be reached."); return; }
  hits = look(box.value);
  at = hits.length && box.value.trim() ? 0 : -1;
  show();
  if (box.value.trim()) say(hits.length === 1 ? "1 found" : `${hits.length} found`);
}
const close = () => { found.hidden = true; box.setAttribute("aria-expanded", "false"); box.removeAttribute("aria-activedescendant"); };

box.parentElement.hidden = false;
box.addEventListener("focus", read);
box.addEventListener("input", search);
box.addEventListener("keydown", (e) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (step && hits.length) {
    at = (at + step + hits.length) % hits.length;
    show();
  } else if (e.key === "Enter" && hits[at]) location.assign(hits[at].href);
  else if (e.key === "Escape") close();
  else return;
  e.preventDefault();
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
