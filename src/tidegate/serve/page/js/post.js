// A post as it is shown: who, when, where, what, and the words that made it match.

import { h } from "./dom.js";

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const DAY_MS = 86_400_000;

/**
 * A text with parts of it marked; marks that overlap or touch are one.
 *
 * The service counts characters, JavaScript halves of some of them: 🌊 is one there and two here.
 */
export function marked(text, marks) {
  const characters = Array.from(text);
  const shown = document.createDocumentFragment();
  let done = 0;
  for (const { start, end, what } of joined(marks)) {
    shown.append(characters.slice(done, start).join(""));
    shown.append(h("mark", { title: what }, characters.slice(start, end).join("")));
    done = end;
  }
  shown.append(characters.slice(done).join(""));
  return shown;
}

function joined(marks) {
  const whole = [];
  for (const { start, end, what } of [...marks].sort((a, b) => a.start - b.start)) {
    const last = whole.at(-1);
    if (last && start <= last.end) {
      last.end = Math.max(last.end, end);
      if (!last.what.split(", ").includes(what)) last.what += `, ${what}`;
    } else whole.push({ start, end, what });
  }
  return whole;
}

/** A post; `why` is what the service says of why it matches, if it was asked; `more` follows below. */
export function postCard(post, why = null, ...more) {
  const text = typeof post.text === "string" ? post.text : JSON.stringify(post);
  return h(
    "article",
    { class: "post" },
    h("header", {}, post.author && h("span", { class: "author" }, post.author), moment(post.ts), place(post)),
    h("p", { class: "text", dir: "auto" }, why ? marked(text, why.marks) : text),
    more,
  );
}

/** When: the time of day, and of other days the date. */
export function moment(when) {
  const date = new Date(when);
  if (!when || Number.isNaN(date.getTime())) return null;
  const shown = Math.abs(Date.now() - date) < DAY_MS / 2 ? TIME.format(date) : DATE.format(date);
  return h("time", { datetime: date.toISOString() }, shown);
}

function place({ lat, lon }) {
  if (typeof lat !== "number" || typeof lon !== "number") return null;
  const degrees = (value, [plus, minus]) => `${Math.abs(value).toFixed(1)}°\u00a0${value < 0 ? minus : plus}`;
  return h("span", { class: "place" }, `${degrees(lat, "NS")} ${degrees(lon, "EW")}`);
}
