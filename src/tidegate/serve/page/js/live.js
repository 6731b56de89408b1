// The live feed: one request whose answer does not end. It comes back by itself, and goes on where it was.
// (EventSource could not show a key.)

import { request } from "./api.js";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
// The service says something every fifteen seconds: after three times that it is gone, whatever the connection says.
const SILENCE_MS = 45_000;

/** Follows from a cursor on, each event once and in order, until it is stopped. */
export class LiveFeed {
  #cursor;
  #tell;
  #show;
  #refused;
  #stopped = new AbortController();
  #failures = 0;

  /** `tell(kind, data)` for every event; `show(state)` when it is live, reconnecting or offline; `refused` for good. */
  constructor(cursor, tell, show, refused) {
    this.#cursor = cursor;
    this.#tell = tell;
    this.#show = show;
    this.#refused = refused;
    this.#run();
  }

  stop() {
    this.#stopped.abort();
  }

  async #run() {
    while (!this.#stopped.signal.aborted) {
      try {
        await this.#follow();
      } catch (problem) {
        if (problem.status === 401 || problem.status === 403) return this.#refused(problem);
      }
      if (this.#stopped.signal.aborted) return;
      this.#show(navigator.onLine ? "reconnecting" : "offline");
      await this.#pause();
    }
  }

  async #follow() {
    const broken = new AbortController();
    const hangUp = () => broken.abort();
    let watch = setTimeout(hangUp, SILENCE_MS);
    this.#stopped.signal.addEventListener("abort", hangUp);
    window.addEventListener("offline", hangUp);
    try {
      const query = {
        since: this.#cursor,
        device: device(),
        kind: matchMedia("(pointer: coarse)").matches ? "mobile" : "desktop",
      };
      const answer = await request("GET", "live", { query, signal: broken.signal });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      const events = new EventReader((event) => this.#take(event));
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(watch);
        watch = setTimeout(hangUp, SILENCE_MS);
        events.read(value);
      }
    } finally {
      clearTimeout(watch);
      this.#stopped.signal.removeEventListener("abort", hangUp);
      window.removeEventListener("offline", hangUp);
    }
  }

  #take({ id, event, data }) {
    if (this.#stopped.signal.aborted) return;
    if (event === "ready") {
      this.#failures = 0;
      this.#show("live");
    } else if (id !== null) {
      if (id <= this.#cursor) return;
      this.#cursor = id;
    }
    this.#tell(event, data);
  }

  /** Wait, longer each time and never as long as others do: a service that comes back is not to be met by a crowd. */
  #pause() {
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures++);
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        window.removeEventListener("online", go);
        this.#stopped.signal.removeEventListener("abort", go);
        resolve();
      };
      const timer = setTimeout(go, longest * (0.5 + Math.random() / 2));
      window.addEventListener("online", go);
      this.#stopped.signal.addEventListener("abort", go);
    });
  }
}

/** Reads server-sent events out of text that comes in any pieces. */
export class EventReader {
  #rest = "";
  #tell;

  constructor(tell) {
    this.#tell = tell;
  }

  read(text) {
    const blocks = (this.#rest + text).split("\n\n");
    this.#rest = blocks.pop();
    for (const block of blocks) {
      const fields = new Map();
      for (const line of block.split("\n")) {
        const colon = line.indexOf(": ");
        if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
      }
      if (!fields.has("data")) continue; // a heartbeat
      const id = fields.has("id") ? Number(fields.get("id")) : null;
      this.#tell({ id, event: fields.get("event"), data: JSON.parse(fields.get("data")) });
    }
  }
}

/** A name for this tab: it is one device of several that its subscriber may have. */
function device() {
  let name = sessionStorage.getItem("tidegate.device");
  if (!name) {
    name = `page-${Math.random().toString(36).slice(2, 10)}`;
    sessionStorage.setItem("tidegate.device", name);
  }
  return name;
}
