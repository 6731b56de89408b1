// Two lists of what one was told: the live feed, which begins when the page is opened, and the inbox with its past.

import { doing } from "./api.js";
import { byId, h, number, say, throttled } from "./dom.js";
import { postCard } from "./post.js";

const FEED = 200;
const SAID_EVERY_MS = 3000;

/** Show mail in both lists, as it changes. */
export function showMail(mail) {
  const feed = new NotificationList(byId("feed"), "Nothing yet. What matches from now on appears here by itself.");
  const inbox = new NotificationList(byId("notifications"), "Nothing here yet. Subscribe to something.", (item) =>
    item.is_read
      ? null
      : h(
          "button",
          { class: "quiet", type: "button", onclick: (event) => doing(event.target, () => mail.read(item.cursor)) },
          "Mark as read",
        ),
  );
  const [all, older, unread] = ["read-all", "older", "unread"].map(byId);
  let isOpen = false;
  let unsaid = 0;
  const saySoon = throttled(() => {
    say(unsaid === 1 ? "A new match" : `${unsaid} new matches`);
    unsaid = 0;
  }, SAID_EVERY_MS);
  const sayNews = (count) => {
    unsaid += count;
    saySoon();
  };

  mail.addEventListener("added", ({ detail: items }) => {
    // The first are the past: they belong to the inbox alone.
    const isNews = isOpen && items[0].cursor === mail.items[0].cursor;
    isOpen = true;
    if (isNews) feed.prepend(items, FEED);
    if (isNews) inbox.prepend(items, mail.items.length);
    else inbox.append(items);
    if (isNews) sayNews(items.length);
  });
  mail.addEventListener("changed", ({ detail: cursors }) => {
    feed.refresh(cursors);
    inbox.refresh(cursors);
  });
  mail.addEventListener("counted", () => {
    isOpen = true;
    unread.hidden = mail.unread === 0;
    unread.textContent = number(mail.unread);
    unread.setAttribute("aria-label", `${mail.unread} unread`);
    byId("inbox-counts").textContent = mail.total ? `${number(mail.unread)} unread of ${number(mail.total)}` : "";
    all.disabled = mail.unread === 0 || mail.items.length === 0;
    older.hidden = !mail.hasOlder;
    document.title = mail.unread ? `(${number(mail.unread)}) Tidegate` : "Tidegate";
  });
  all.onclick = () => doing(all, () => mail.readAll()).then(() => (all.disabled = mail.unread === 0));
  older.onclick = () => doing(older, () => mail.older()).then(() => (older.hidden = !mail.hasOlder));
}

/** Notifications in an element, the newest first, each drawn anew when something about it changes. */
class NotificationList {
  #element;
  #nothing;
  #action;
  #shown = new Map();

  constructor(element, nothing, action = () => null) {
    this.#element = element;
    this.#nothing = nothing;
    this.#action = action;
    element.replaceChildren(h("p", { class: "note empty" }, nothing));
  }

  prepend(items, most) {
    this.#clearNote();
    for (const item of items) this.#element.prepend(this.#entry(item));
    while (this.#element.childElementCount > most) {
      this.#shown.delete(Number(this.#element.lastElementChild.dataset.cursor));
      this.#element.lastElementChild.remove();
    }
  }

  append(items) {
    this.#clearNote();
    this.#element.append(...items.map((item) => this.#entry(item)));
  }

  refresh(cursors) {
    for (const cursor of cursors) {
      const shown = this.#shown.get(cursor);
      if (!shown) continue;
      const hadFocus = shown.card.contains(document.activeElement);
      const fresh = this.#card(shown.item);
      shown.card.replaceChildren(...fresh.childNodes);
      shown.card.className = fresh.className;
      // Whoever marks one as read by keyboard stays where they are.
      if (hadFocus) shown.card.focus();
    }
  }

  #clearNote() {
    if (this.#shown.size === 0) this.#element.replaceChildren();
  }

  #entry(item) {
    const card = this.#card(item);
    this.#shown.set(item.cursor, { item, card });
    return card;
  }

  #card(item) {
    const reasons = item.explained ?? [];
    const marks = reasons.flatMap((reason) => reason.why?.marks ?? []);
    const post = { ts: item.at / 1000, ...item.post };
    const because = h("footer", {}, h("div", { class: "reasons" }, reasons.map(reasonLine)), this.#action(item));
    const card = postCard(post, { marks }, because);
    card.classList.toggle("is-unread", !item.is_read);
    card.dataset.cursor = item.cursor;
    card.tabIndex = -1;
    return card;
  }
}

function reasonLine({ query, why }) {
  if (query === null) return h("p", {}, "matched a subscription that was removed since");
  const line = [h("span", { class: "unseen" }, "matched "), h("code", {}, query)];
  if (why === null) return h("p", {}, line, " as it was then");
  return h(
    "p",
    {},
    line,
    why.others.map((other) => h("span", { class: "chip" }, other)),
  );
}
