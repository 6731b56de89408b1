// What the subscriber was told, as far as it is known here: the end of the inbox, what comes live, and what was read.
// Views listen for `added` (detail: the notifications), `changed` (detail: cursors) and `counted`.

import { ask } from "./api.js";
import { throttled } from "./dom.js";

const PAGE = 30;
// A tab that stays open for days forgets what is far down: `older` has it.
const MOST = 600;
const AT_ONCE = 100;

export class Mail extends EventTarget {
  /** By cursor, the newest first: they come in order. */
  items = [];
  total = 0;
  unread = 0;
  #before = null;
  #unexplained = [];
  #explainSoon = throttled(() => this.#explain(), 60);
  #countSoon = throttled(() => this.#count().catch(() => {}), 2000);

  /** Whether there are older ones than those that are known. */
  get hasOlder() {
    return this.#before !== null;
  }

  /** Read the end of the inbox; return the cursor to follow from. */
  async open() {
    const { items, cursor, before } = await ask("GET", "inbox/latest", { query: { limit: PAGE } });
    this.#before = before;
    this.#add(items, "push");
    await this.#count();
    return cursor;
  }

  /** Take an event of the live feed. */
  take(kind, data) {
    if (kind === "notification") {
      this.unread += 1;
      this.total += 1;
      this.#add([data], "unshift");
      this.#countSoon();
    } else if (kind === "read") {
      const named = new Set(data.cursors);
      this.#markRead((cursor) => named.has(cursor) || (data.up_to !== null && cursor <= data.up_to));
      this.unread = data.unread;
      this.#tell("counted");
    } else if (kind === "ready") {
      this.#catchUp().catch(() => {});
    }
  }

  /** Fetch a page of older ones. */
  async older() {
    const { items, before } = await ask("GET", "inbox/latest", { query: { limit: PAGE, before: this.#before } });
    this.#before = before;
    this.#add(items, "push");
  }

  /** Mark one as read. */
  async read(cursor) {
    const { unread } = await ask("POST", "inbox/read", { body: { cursors: [cursor] } });
    this.take("read", { cursors: [cursor], up_to: null, unread });
  }

  /** Mark everything as read that was here to be seen. */
  async readAll() {
    const up_to = this.items[0].cursor;
    const { unread } = await ask("POST", "inbox/read", { body: { up_to } });
    this.take("read", { cursors: [], up_to, unread });
  }

  #add(items, how) {
    if (!items.length) return;
    this.items[how](...items);
    this.#unexplained.push(...items);
    if (how === "unshift" && this.items.length > MOST) {
      this.items.length = MOST;
      this.#before = this.items.at(-1).cursor;
    }
    this.#explainSoon();
    this.#tell("added", items);
    this.#tell("counted");
  }

  /** Ask why the posts matched that have come since this was last asked, so many at once. */
  async #explain() {
    const some = this.#unexplained.splice(0, AT_ONCE);
    if (this.#unexplained.length) this.#explainSoon();
    const known = new Map(some.map((item) => [item.cursor, item]));
    try {
      const answers = await ask("GET", "inbox/reasons", { query: { cursor: [...known.keys()] } });
      for (const { cursor, reasons } of answers) known.get(cursor).explained = reasons;
      this.#tell("changed", [...known.keys()]);
    } catch {
      // The posts are shown without their reasons: that is less, and not wrong.
    }
  }

  /** What was read elsewhere while nobody was listening. */
  async #catchUp() {
    const { items } = await ask("GET", "inbox/latest", { query: { limit: 100 } });
    const read = new Set(items.filter((item) => item.is_read).map((item) => item.cursor));
    this.#markRead((cursor) => read.has(cursor));
    await this.#count();
  }

  async #count() {
    const { total, unread } = await ask("GET", "inbox/counts");
    Object.assign(this, { total, unread });
    this.#tell("counted");
  }

  #markRead(isRead) {
    const changed = this.items.filter((item) => !item.is_read && isRead(item.cursor));
    for (const item of changed) item.is_read = true;
    if (changed.length)
      this.#tell(
        "changed",
        changed.map((item) => item.cursor),
      );
  }

  #tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
