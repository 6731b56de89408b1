// The subscriptions one has: paused, resumed, changed and removed.

import { ask, doing, showProblem } from "./api.js";
import { byId, h, say } from "./dom.js";

const SURE_MS = 4000;

/** Show one's subscriptions, and show them again when asked to. */
export class Subscriptions {
  #list = byId("subscriptions");
  #change;
  #name;

  /** `change(subscription)` when somebody wants another text for one. */
  constructor(name, change) {
    this.#name = name;
    this.#change = change;
    this.refresh();
  }

  async refresh() {
    try {
      const { items, next } = await ask("GET", "subscriptions", { query: { subscriber: this.#name, limit: 200 } });
      items.sort((a, b) => b.created.localeCompare(a.created));
      this.#list.replaceChildren(...items.map((each) => this.#row(each)));
      if (next !== null) this.#list.append(h("li", { class: "note" }, "There are more, which are not shown here."));
      if (!items.length) this.#list.append(h("li", { class: "note" }, "None yet."));
    } catch (problem) {
      showProblem(problem);
    }
  }

  #row(subscription) {
    const { id, query, region, state, expires } = subscription;
    const path = `subscriptions/${encodeURIComponent(id)}`;
    const button = (label, onclick, name = label) => {
      return h("button", { class: "quiet", type: "button", onclick, "aria-label": `${name}: ${query}` }, label);
    };
    const act = (verb) => (event) =>
      doing(event.target, async () => {
        await ask("POST", `${path}/${verb}`);
        say(`${verb === "pause" ? "Paused" : "Resumed"}: ${query}`);
        await this.refresh();
        this.#list.querySelector(`[data-id="${CSS.escape(id)}"] button`)?.focus();
      });
    return h(
      "li",
      { class: `subscription is-${state}`, "data-id": id },
      h("p", {}, h("code", {}, query), region && h("span", { class: "chip" }, region), this.#state(state, expires)),
      h(
        "div",
        { class: "line" },
        state === "active" ? button("Pause", act("pause")) : state === "paused" && button("Resume", act("resume")),
        button("Change", () => this.#change(subscription)),
        this.#remover(path, query),
      ),
    );
  }

  #state(state, expires) {
    const until = expires && state !== "expired" ? `until ${new Date(expires).toLocaleString()}` : null;
    const shown = [state === "active" ? null : state, until].filter(Boolean).join(", ");
    return shown ? h("span", { class: "note" }, ` ${shown}`) : null;
  }

  /** A button that asks back, in its own place. */
  #remover(path, query) {
    let isSure = false;
    const button = h("button", { class: "quiet", type: "button", "aria-label": `Remove: ${query}` }, "Remove");
    button.addEventListener("click", () => {
      if (!isSure) {
        isSure = true;
        button.textContent = "Really remove?";
        button.setAttribute("aria-label", `Really remove: ${query}`);
        setTimeout(() => {
          isSure = false;
          button.textContent = "Remove";
          button.setAttribute("aria-label", `Remove: ${query}`);
        }, SURE_MS);
        return;
      }
      doing(button, async () => {
        await ask("DELETE", path);
        say("The subscription was removed.");
        await this.refresh();
        byId("query").focus();
      });
    });
    return button;
  }
}
