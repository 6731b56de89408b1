// The page: who is signed in, which view is seen, and the one live feed behind all of them.

import { Problem, ask, clearProblem, doing, forgetKey, keepForDevice, keepForTab, key, showProblem } from "./api.js";
import { Composer } from "./composer.js";
import { byId, say } from "./dom.js";
import { showMail } from "./inbox.js";
import { bringsKey, takeKeyFromAddress } from "./link_key.js";
import { LiveFeed } from "./live.js";
import { Mail } from "./mail.js";
import { OperatorView } from "./operator.js";
import { Subscriptions } from "./subscriptions.js";

const VIEWS = ["queries", "feed", "inbox", "operator"];
const STATES = { live: "Live", reconnecting: "Reconnecting", offline: "Offline" };
const RETRY_MS = 2000;
const FAREWELL = "tidegate.farewell";
const THEMES = { "": "Colours: auto", light: "Colours: light", dark: "Colours: dark" };

async function enter({ name, is_operator: isOperator }) {
  byId("door").hidden = true;
  byId("who").textContent = name;
  for (const id of ["views", "who", "leave", "state"]) byId(id).hidden = false;
  document.querySelector('a[href="#operator"]').hidden = !isOperator;
  const operatorView = isOperator ? new OperatorView() : null;

  let subscriptions = null;
  const composer = new Composer(() => subscriptions.refresh());
  subscriptions = new Subscriptions(name, (subscription) => composer.write(subscription.query, subscription));

  const show = () => {
    const asked = location.hash.slice(1);
    // The skip link leads into whatever is shown; nothing is, if it was followed before the page was ready.
    if (asked === "main" && VIEWS.some((each) => !byId(`view-${each}`).hidden)) return;
    const view = VIEWS.includes(asked) && (asked !== "operator" || isOperator) ? asked : "queries";
    for (const each of VIEWS) byId(`view-${each}`).hidden = each !== view;
    for (const link of byId("views").querySelectorAll("a")) {
      if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (view === "operator") operatorView.refresh();
  };
  window.addEventListener("hashchange", show);
  show();

  const mail = new Mail();
  showMail(mail);
  const cursor = await patiently(() => mail.open());
  const feed = new LiveFeed(cursor, (kind, data) => mail.take(kind, data), showState, leave);
  byId("leave").addEventListener("click", () => {
    feed.stop();
    leave();
  });
}

/** Try until it can be done, unless the key is to blame. */
async function patiently(work) {
  for (;;) {
    try {
      const done = await work();
      clearProblem();
      return done;
    } catch (problem) {
      if (problem.status === 401) throw problem;
      showProblem(problem);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** Forget the key; what was on the page goes with it, but for the problem that has led to this. */
function leave(problem = null) {
  forgetKey();
  if (problem) sessionStorage.setItem(FAREWELL, problem.detail);
  location.replace(location.pathname);
}

function showFarewell() {
  const detail = sessionStorage.getItem(FAREWELL);
  sessionStorage.removeItem(FAREWELL);
  if (detail) showProblem(new Problem({ title: "You were signed out", detail }));
}

function showState(state) {
  const shown = byId("state");
  if (shown.dataset.state === state) return;
  if (shown.dataset.state || state !== "live") say(STATES[state]);
  if (shown.dataset.state && state === "live") clearProblem();
  shown.dataset.state = state;
  shown.textContent = STATES[state];
}

function offerThemes() {
  const button = byId("theme");
  const root = document.documentElement;
  const names = Object.keys(THEMES);
  const show = () => (button.textContent = THEMES[root.dataset.theme ?? ""]);
  button.addEventListener("click", () => {
    const next = names[(names.indexOf(root.dataset.theme ?? "") + 1) % names.length];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    localStorage.setItem("tidegate.theme", next);
    show();
  });
  show();
}

async function begin() {
  offerThemes();
  // A link that is followed, or pasted, while the page is open.
  window.addEventListener("hashchange", () => bringsKey() && location.reload());
  const trouble = bringsKey() ? await takeKeyFromAddress(patiently) : null;
  if (key()) {
    try {
      await enter(await patiently(() => ask("GET", "me")));
      if (trouble) showProblem(trouble);
    } catch (problem) {
      leave(problem);
    }
    return;
  }
  showFarewell();
  const form = byId("sign-in");
  byId("door").hidden = false;
  byId("key").focus();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    doing(event.submitter ?? form.querySelector("button"), async () => {
      (byId("remember").checked ? keepForDevice : keepForTab)(byId("key").value.trim());
      const who = await ask("GET", "me").catch((problem) => {
        forgetKey();
        throw problem;
      });
      await enter(who);
    });
  });
}

begin();
