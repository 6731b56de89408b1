// Where queries are written: as one types, how they are understood, what they would match, and what is wrong with them.

import { ask, clearProblem, doing, showProblem } from "./api.js";
import { byId, debounced, h, number, say, whileSeen } from "./dom.js";
import { WorldMap } from "./map.js";
import { rectangleIn, withRectangle } from "./place_syntax.js";
import { postCard } from "./post.js";

const PAUSE_MS = 180;
const FRESH_MS = 5000;
const SHOWN = 20;
const ON_MAP = 400;
const ALTERNATIVES = 5;
const EXAMPLES = ["storm (coast OR harbour) -film", '"solar eclipse" from:nasa', "concert in:(1.5,48.5,3.2,49.2)"];

export class Composer {
  #text = byId("query");
  #verdict = byId("verdict");
  #submit = byId("subscribe");
  #cancel = byId("cancel");
  #fields = byId("rectangle");
  #map;
  #changing = null;
  #asking = null;
  #explained = null;
  #subscribed;

  /** `subscribed()` when a subscription was made or changed. */
  constructor(subscribed) {
    this.#subscribed = subscribed;
    this.#map = new WorldMap(byId("map"), (rectangle) => this.#put(rectangle));
    const askSoon = debounced(() => this.#ask(), PAUSE_MS);
    this.#text.addEventListener("input", () => {
      this.#mark(null);
      this.#showRectangle();
      askSoon();
    });
    this.#text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      byId("composer").requestSubmit();
    });
    this.#text.addEventListener("scroll", () => (byId("backdrop").scrollTop = this.#text.scrollTop));
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#text.value.trim()) this.#save();
    });
    this.#fields.addEventListener("submit", (event) => {
      event.preventDefault();
      const edges = ["west", "south", "east", "north"].map((name) => [name, Number(this.#fields.elements[name].value)]);
      this.#put(Object.fromEntries(edges));
    });
    this.#cancel.addEventListener("click", () => this.write(""));
    whileSeen(byId("view-queries"), FRESH_MS, () => this.#asking === null && this.#ask({ isAgain: true }));
    this.#ask();
  }

  /** Begin with a text: a new query's, or that of a subscription which is to be changed. */
  write(text, subscription = null) {
    this.#changing = subscription;
    this.#explained = null;
    this.#text.value = text;
    this.#cancel.hidden = subscription === null;
    this.#submit.textContent = subscription ? "Save the change" : "Subscribe";
    this.#mark(null);
    this.#showRectangle();
    this.#text.focus();
    return this.#ask();
  }

  /**
   * Ask what the text means, then what it would match. The answer to an older text is not waited for.
   *
   * It is asked again for the sake of posts that have come since; should nobody answer then, that is told elsewhere.
   */
  async #ask({ isAgain = false } = {}) {
    this.#asking?.abort();
    const asking = (this.#asking = new AbortController());
    const { signal } = asking;
    const query = this.#text.value;
    const region = this.#changing?.region ?? null;
    try {
      if (query !== this.#explained) await this.#explain(query, region, signal);
      const body = { query, region, limit: SHOWN };
      const tried = query.trim() ? await ask("POST", "dry-run", { body, signal }) : null;
      this.#show(tried, (await ask("GET", "posts/recent", { query: { limit: ON_MAP }, signal })).items);
    } catch (problem) {
      if (!signal.aborted && !isAgain) this.#complain(problem);
    } finally {
      if (this.#asking === asking) this.#asking = null;
    }
  }

  async #explain(query, region, signal) {
    const isEmpty = !query.trim();
    const meaning = isEmpty ? null : await ask("POST", "explain", { body: { query, region }, signal });
    this.#explained = query;
    this.#mark(null);
    this.#submit.disabled = isEmpty;
    this.#verdict.replaceChildren(isEmpty ? this.#examples() : alternatives(meaning));
    byId("estimate").classList.add("is-stale");
  }

  #examples() {
    const example = (text) => h("button", { class: "example", type: "button", onclick: () => this.write(text) }, text);
    return h("p", { class: "note" }, "For example: ", EXAMPLES.map(example));
  }

  async #save() {
    const query = this.#text.value;
    const changing = this.#changing;
    const made = await doing(this.#submit, async () => {
      try {
        return changing
          ? await ask("PATCH", `subscriptions/${encodeURIComponent(changing.id)}`, { body: { query } })
          : await ask("POST", "subscriptions", { body: { query } });
      } catch (problem) {
        if (problem.position === undefined) throw problem;
        this.#complain(problem);
        return null;
      }
    });
    if (!made) return;
    say(changing ? "The subscription was changed." : "Subscribed.");
    this.#subscribed();
    await this.write("");
  }

  /** Show what a query would match, and other posts on the map; of no query, other posts alone. */
  #show(tried, recent) {
    const matches = tried?.matches ?? recent.slice(0, SHOWN).map((post) => ({ post }));
    const found = matches.length ? "Recent posts that match" : "No recent post matches";
    const all = recent.length ? "Recent posts" : "No posts yet";
    this.#showPosts(tried ? found : all, matches.map(matchCard));
    this.#showPlaces(recent, tried ? matches.map(({ post }) => post) : []);
    showEstimate(tried?.expected ?? null);
  }

  #showPosts(title, cards) {
    const list = byId("matches");
    byId("matches-title").textContent = title;
    list.classList.remove("is-stale");
    // What is the same stays: somebody may be reading it, or copying from it.
    const isSame =
      list.childElementCount === cards.length && cards.every((card, n) => card.isEqualNode(list.children[n]));
    if (!isSame) list.replaceChildren(...cards);
  }

  #showPlaces(recent, matching) {
    this.#map.show(recent, matching);
    const placed = recent.filter(({ lat }) => typeof lat === "number").length;
    byId("map-note").textContent = placed
      ? `${number(placed)} of the last ${number(recent.length)} posts have a place`
      : "";
  }

  #complain(problem) {
    if (problem.name === "AbortError") return;
    if (problem.status !== 422) {
      showProblem(problem);
      return;
    }
    clearProblem();
    this.#explained = null;
    this.#submit.disabled = true;
    const { position, said, hint } = problem;
    const where = typeof position === "number" ? `, at character ${position + 1}` : "";
    const sentence = `${said.charAt(0).toUpperCase()}${said.slice(1)}${where}.`;
    this.#verdict.replaceChildren(
      h("p", { class: "error" }, h("strong", {}, sentence), hint && h("span", {}, ` Try: ${hint}.`)),
    );
    byId("estimate").replaceChildren();
    byId("matches").classList.add("is-stale");
    this.#mark(position ?? null);
  }

  /** Mark a character of the text as the one that is wrong; after the last one, the end. */
  #mark(position) {
    const characters = Array.from(this.#text.value);
    const backdrop = byId("backdrop");
    this.#text.setAttribute("aria-invalid", String(position !== null));
    if (position === null) {
      backdrop.replaceChildren();
      return;
    }
    const [before, rest] = [characters.slice(0, position).join(""), characters.slice(position)];
    backdrop.replaceChildren(before, h("mark", {}, rest[0] ?? " "), rest.slice(1).join(""));
    backdrop.scrollTop = this.#text.scrollTop;
  }

  #put(rectangle) {
    this.#text.value = withRectangle(this.#text.value, rectangle);
    this.#mark(null);
    this.#showRectangle();
    this.#ask();
  }

  #showRectangle() {
    const rectangle = rectangleIn(this.#text.value) ?? rectangleIn(this.#changing?.region ?? "");
    this.#map.rectangle = rectangle;
    for (const [name, value] of Object.entries(rectangle ?? {})) this.#fields.elements[name].value = value;
  }
}

function matchCard({ post, why = null }) {
  const others = why?.others ?? [];
  const chips = others.map((other) => h("span", { class: "chip" }, other));
  return postCard(post, why, chips.length > 0 && h("footer", {}, chips));
}

function alternatives({ alternatives: all }) {
  const more = all.length - ALTERNATIVES;
  const rest = more > 0 && h("li", { class: "note" }, `or any of ${number(more)} more`);
  return h("ul", { class: "alternatives" }, all.slice(0, ALTERNATIVES).map(alternative), rest);
}

function alternative({ wanted, excluded }, index) {
  const terms = (texts, kind) => texts.map((text) => h("span", { class: `chip ${kind}` }, text));
  return h(
    "li",
    {},
    h("span", { class: "joint" }, index ? "or" : "posts with"),
    terms(wanted, "wanted"),
    excluded.length > 0 && h("span", { class: "joint" }, "but without"),
    terms(excluded, "excluded"),
  );
}

function showEstimate(expected) {
  const shown = byId("estimate");
  shown.classList.remove("is-stale", "error");
  if (expected === null) return shown.replaceChildren();
  const { per_day: perDay, matched, posts, stands_for: standsFor, allowed } = expected;
  // Of a fast stream only some posts are kept: then it is said for how many they stand.
  const drawn = standsFor > posts ? `, drawn from ${number(standsFor)} that came lately` : "";
  const sample = `${number(matched)} of ${drawn ? "" : "the last "}${number(posts)} posts${drawn}`;
  const isTooMany = perDay !== null && perDay > allowed;
  const most = isTooMany ? ` More than ${number(allowed)} are not allowed: add a word.` : "";
  shown.classList.toggle("error", isTooMany);
  if (perDay === null) return shown.replaceChildren(`${sample} match: too few to tell how many a day will.`);
  return shown.replaceChildren(h("strong", {}, `About ${number(perDay)} a day`), `, by ${sample}.${most}`);
}
