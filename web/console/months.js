// Months: which one is usual, and how one is chosen.
import { el } from "./statement.js";
import { session } from "./service.js";

export const monthName = (month) => new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" }).format(new Date(month + "-01T00:00:00Z"));

export const isMonth = (text) => /^\d{4}-(0[1-9]|1[0-2])$/.test(text);

function shifted(month, by) {
  const [year, number] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 + by, 1)).toISOString().slice(0, 7);
}

// usual is the last full month, or the first one that the team has statements of.
export function usual() {
  const first = session.teams.find((t) => t.id === session.team)?.effectiveStatementStartAt?.slice(0, 7) || "";
  const now = new Date();
  const last = shifted(new Date(now - now.getTimezoneOffset() * 60000).toISOString().slice(0, 7), -1); // by the user's clock
  return last < first ? first : last;
}

// monthPicker chooses a month: of is the one that is shown, travel goes to another.
export function monthPicker(id, of, travel) {
  const picker = el("input", { type: "month", id, placeholder: "YYYY-MM", autocomplete: "off", onchange: () => isMonth(picker.value) && travel(picker.value) });
  const step = (by, sign, name) => el("button", { type: "button", "aria-label": name, onclick: () => travel(shifted(of(), by)) }, sign);
  return el("div", { class: "months" }, step(-1, "‹", "Previous month"), el("div", { class: "field" }, el("label", { for: id }, "Month"), picker), step(1, "›", "Next month"));
}
