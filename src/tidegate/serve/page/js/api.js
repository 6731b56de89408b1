// The service: asked with the key of whoever is signed in, and what it refuses raised as a problem.

import { h, byId } from "./dom.js";

const KEPT = "tidegate.key";

/** What the service, or the way to it, refuses: a title, a detail, and whatever else was said (RFC 9457). */
export class Problem extends Error {
  constructor(body, status = 0) {
    super(body.detail ?? body.title);
    Object.assign(this, { title: "Something went wrong", detail: "" }, body, { status });
  }

  /** What is wrong, without the remedy, which is told apart. */
  get said() {
    const remedy = this.hint ? ` (${this.hint})` : "";
    return remedy && this.detail.endsWith(remedy) ? this.detail.slice(0, -remedy.length) : this.detail;
  }
}

/** The key that is kept here, or null. */
export const key = () => sessionStorage.getItem(KEPT) ?? localStorage.getItem(KEPT);

/** Keep a key for this tab; one that is kept for the device stays there. */
export const keepForTab = (value) => sessionStorage.setItem(KEPT, value);

/** Keep a key for this device. */
export const keepForDevice = (value) => localStorage.setItem(KEPT, value);

/** Keep the key no longer that is used in this tab. */
export function forgetKey() {
  const used = sessionStorage.getItem(KEPT) === null ? localStorage : sessionStorage;
  used.removeItem(KEPT);
}

/** Begin a request, and return the answer once its head is here; raise a `Problem` if it is one. `as` is another key. */
export async function request(method, path, { body, query, signal, as = key() } = {}) {
  const url = new URL(path, document.baseURI);
  for (const [name, values] of Object.entries(query ?? {})) {
    for (const value of [values].flat())
      if (value !== null && value !== undefined) url.searchParams.append(name, value);
  }
  const headers = { Authorization: `Bearer ${as ?? ""}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(url, { method, headers, signal, cache: "no-store", body: body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "The service does not answer", detail: "Nothing was lost: try again in a moment." });
  }
  if (!answer.ok) throw new Problem(await answer.json().catch(() => ({ title: answer.statusText })), answer.status);
  return answer;
}

/** Ask, and return what was answered; null where there is nothing to say. */
export async function ask(method, path, options) {
  const answer = await request(method, path, options);
  if (answer.status === 204) return null;
  return answer.headers.get("Content-Type")?.startsWith("application/json") ? answer.json() : answer.text();
}

/** Show a problem until it is dismissed, or the next one comes. What was only broken off is none. */
export function showProblem(problem) {
  if (problem.name === "AbortError") return;
  const { title, said, hint } = problem instanceof Problem ? problem : new Problem({ detail: String(problem) });
  const text = h("p", {}, h("strong", {}, title), said && `: ${said}`, hint && h("em", {}, ` Try: ${hint}.`));
  byId("banner").replaceChildren(
    h(
      "div",
      { class: "banner" },
      text,
      h("button", { class: "quiet", type: "button", onclick: clearProblem }, "Dismiss"),
    ),
  );
}

/** Show no problem. */
export function clearProblem() {
  byId("banner").replaceChildren();
}

/** Do something that a button asks for: it waits, and what goes wrong is shown. */
export async function doing(button, work) {
  button.disabled = true;
  try {
    const done = await work();
    clearProblem();
    return done;
  } catch (problem) {
    showProblem(problem);
    return undefined;
  } finally {
    button.disabled = false;
  }
}
