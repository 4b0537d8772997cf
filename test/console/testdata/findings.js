(() => {
  const found = [];
  const visible = (e) => e.checkVisibility({ checkVisibilityCSS: true });
  const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);
  const say = (e, what) => found.push(what + ": " + e.outerHTML.slice(0, 120));

  for (const e of all("input, select, textarea")) {
    const named = e.getAttribute("aria-label") || [...(e.labels || [])].some((l) => l.textContent.trim());
    if (!named) say(e, "a field without a label");
  }
  for (const e of all("button, a, summary")) {
    if (!(e.getAttribute("aria-label") || e.textContent).trim()) say(e, "nothing says what this does");
  }
  for (const e of document.querySelectorAll("[aria-describedby], [aria-labelledby]")) {
    for (const id of ((e.getAttribute("aria-describedby") || "") + " " + (e.getAttribute("aria-labelledby") || "")).trim().split(/\s+/)) {
      if (visible(e) && !document.getElementById(id)) say(e, "it refers to " + id);
    }
  }
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) found.push("two elements are called " + id);

  const headings = all("h1, h2, h3, h4");
  if (headings.filter((h) => h.tagName === "H1").length !== 1) found.push("not one h1 but " + headings.filter((h) => h.tagName === "H1").length);
  headings.forEach((h, i) => i && Number(h.tagName[1]) > Number(headings[i - 1].tagName[1]) + 1 && say(h, "a level is left out"));
  for (const landmark of ["header", "main"]) if (all(landmark).length !== 1) found.push("not one " + landmark);
  if (!document.documentElement.lang || !document.title) found.push("no language or no title");
  if (!document.querySelector("[role=status]")) found.push("nothing announces changes");

  // A row is a row and a cell a cell for a screen reader also where they are laid out as cards.
  for (const t of all("table")) if (t.getAttribute("role") !== "table" && getComputedStyle(t.querySelector("tr")).display !== "table-row") say(t, "no table any more");

  const channels = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const ground = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.push(channels(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  for (const e of all("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || e.matches(".unseen, .unseen *, .skip, option, noscript, script, [aria-hidden] *") || e.closest("[aria-disabled=true], [aria-busy=true]")) continue;
    const style = getComputedStyle(e);
    const under = ground(e);
    const ratio = contrast(over(channels(style.color), under), under);
    if (ratio < 4.5) say(e, "contrast " + ratio.toFixed(2) + " of " + style.color + " on " + under.slice(0, 3).map(Math.round));
  }
  for (const e of all("input:not([type=checkbox]), select")) {
    const ratio = contrast(channels(getComputedStyle(e).borderTopColor), ground(e.parentElement));
    if (ratio < 3) say(e, "its edge has a contrast of " + ratio.toFixed(2));
  }

  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    found.push("the page is " + document.documentElement.scrollWidth + " wide on " + width);
    for (const e of all("main *")) if (e.getBoundingClientRect().right > width + 1 && !e.closest(".scroll, .unseen")) say(e, "it goes beyond the edge");
  }
  if (width < 500) {
    for (const e of all("button, input:not([type=checkbox]), select, nav a")) {
      const box = e.getBoundingClientRect();
      if (box.height < 36) say(e, "it is " + Math.round(box.height) + " high");
    }
  }
  return found;
})()
