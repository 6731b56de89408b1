// For whoever runs the service: how the jobs fare, and the service itself. What nobody knows is said to be so.

import { ask, doing } from "./api.js";
import { byId, h, number, s, whileSeen } from "./dom.js";

const EVERY_MS = 2000;
const KEPT = 60;

/** Show the figures while somebody looks, and sign up subscribers. */
export class OperatorView {
  #rates = new Map();

  constructor() {
    whileSeen(byId("view-operator"), EVERY_MS, () => this.refresh());
    const [form, name, made] = ["sign-up", "new-name", "new-key"].map(byId);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      doing(event.submitter, async () => {
        const { subscriber, key } = await ask("POST", "subscribers", { body: { name: name.value } });
        made.replaceChildren(`The key of ${subscriber}, which is not shown again: `, h("code", {}, key));
        form.reset();
      });
    });
  }

  async refresh() {
    try {
      const [status, metrics] = await Promise.all([ask("GET", "operator/status"), ask("GET", "metrics")]);
      byId("operator-note").textContent = `as of ${new Date().toLocaleTimeString()}`;
      byId("figures").replaceChildren(
        ...this.#jobs(status.store),
        this.#service(status, metrics),
        this.#store(status.store),
      );
    } catch (problem) {
      byId("operator-note").textContent = `not up to date: ${problem.title ?? problem}`;
    }
  }

  #jobs({ jobs, plan }) {
    if (!jobs.length) {
      return [
        h(
          "p",
          { class: "note block" },
          "No job has run on this store yet, so there are no figures of matching: start one with ",
          h("code", {}, "tidegate run"),
          ".",
        ),
      ];
    }
    const shown = jobs.filter((job) => job.running);
    return (shown.length ? shown : jobs.slice(0, 1)).map((job) => this.#job(job, plan));
  }

  #job(job, plan) {
    const { figures } = job;
    const { posts, matches } = this.#ratesOf(job);
    const { last, lag, shedding } = figures;
    const loads = Object.values(last?.loads ?? {});
    return h(
      "section",
      { class: "job" },
      h("h2", {}, job.running ? "Matching" : `Matching: ${job.state === "running" ? "silent" : job.state}`),
      h(
        "p",
        { class: "note" },
        `${job.posts} → ${job.matches}, batch ${number(Math.max(0, job.batch))}`,
        job.running ? "" : `, last seen ${new Date(job.seen * 1000).toLocaleString()}`,
      ),
      h(
        "dl",
        { class: "tiles" },
        tile("Posts a second", posts),
        tile("Matches a second", matches),
        tile(lag ? `Lag, ${lag.unit}` : "Lag", this.#series(job, "lag", lag?.waiting)),
        tile("Latency, seconds", this.#series(job, "latency", figures.latency_s)),
        tile("Candidates a post", this.#series(job, "candidates", figures.candidates_per_post)),
        tile("Spread, matchers a post", this.#series(job, "spread", last?.posts ? last.visits / last.posts : null)),
        tile(
          "Shedding level",
          shedding ? this.#series(job, "level", shedding.level, shedNote(shedding, last)) : { now: "never sheds" },
        ),
        tile("Plan, version", { now: job.plan, note: job.plan === plan.version ? plan.kind : "" }),
      ),
      loads.length > 1
        ? loadBars(last.loads)
        : h(
            "p",
            { class: "note" },
            loads.length ? "One matcher, so there is nothing to balance." : "Loads of matchers are not known yet.",
          ),
    );
  }

  /** Posts and matches a second, by what came between two notes of the job about itself. */
  #ratesOf({ run, seen, batch, figures: { total } }) {
    const known = this.#rates.get(run) ?? { posts: [], matches: [], more: new Map() };
    const { before } = known;
    if (!before || batch !== before.batch || seen - before.seen > 5) {
      for (const what of ["posts", "matches"]) {
        const grown = before ? total[what] - before.total[what] : -1;
        if (grown >= 0 && seen > before.seen) known[what] = [...known[what], grown / (seen - before.seen)].slice(-KEPT);
      }
      known.before = { seen, total, batch };
    }
    this.#rates.set(run, known);
    const series = (values) => ({ now: values.at(-1) ?? null, values });
    return { posts: series(known.posts), matches: series(known.matches) };
  }

  #series({ run, seen }, name, value, note = "") {
    const more = this.#rates.get(run).more;
    const known = more.get(name) ?? { values: [], seen: 0 };
    if (typeof value === "number" && seen > known.seen) {
      known.values = [...known.values, value].slice(-KEPT);
      known.seen = seen;
    }
    more.set(name, known);
    return { now: value ?? null, values: known.values, note };
  }

  #service({ live, recent_posts: recent, stands_for: standsFor, posts_per_day: perDay }, metrics) {
    const counted = samples(metrics);
    return h(
      "section",
      {},
      h("h2", {}, "Service"),
      h(
        "dl",
        { class: "tiles" },
        tile("Live feeds", { now: live.connections, note: `${number(live.online)} subscribers` }),
        tile("Events offered to feeds", { now: live.delivered }),
        tile("Feeds fallen behind", { now: live.fallen_behind }),
        tile("Cursors waiting", { now: live.waiting }),
        tile("Posts handed in", { now: counted("tidegate_posts_accepted_total") }),
        tile("Requests answered", { now: counted("tidegate_http_requests_total") }),
        tile("Recent posts", { now: recent, note: recent ? `of ${number(standsFor)}, at ${number(perDay)} a day` : "" }),
      ),
    );
  }

  #store({ version, plan, subscriptions, segments, dead_letters: dead }) {
    return h(
      "section",
      {},
      h("h2", {}, "Store"),
      h(
        "dl",
        { class: "tiles" },
        tile("Subscriptions", { now: subscriptions.count, note: `at version ${number(subscriptions.version)}` }),
        tile("Version", { now: version }),
        tile("Newest plan", { now: plan.version ?? null, note: plan.kind }),
        tile("Segments", { now: segments.length }),
        tile("Dead letters", { now: dead.count }),
      ),
    );
  }
}

function shedNote({ of }, { visits, shed }) {
  return `of ${of}; ${number((100 * shed) / Math.max(1, visits + shed))} % of visits shed`;
}

/** A figure with its name, and a line of how it was lately, if that is known. */
function tile(name, { now, values = [], note = "" }) {
  const figure = typeof now === "number" ? number(now) : h("span", { class: "unknown" }, now ?? "not known");
  return h(
    "div",
    {},
    h("dt", {}, name),
    h("dd", {}, figure, note && h("small", {}, note)),
    values.length > 1 && sparkline(values),
  );
}

function sparkline(values) {
  const most = Math.max(...values, 1e-9);
  const points = values.map(
    (value, index) => `${((index / (KEPT - 1)) * 100).toFixed(1)},${(23 - (value / most) * 22).toFixed(1)}`,
  );
  const label = `from ${number(Math.min(...values))} to ${number(most)} lately`;
  return s(
    "svg",
    { class: "spark", viewBox: "0 0 100 24", preserveAspectRatio: "none", role: "img", "aria-label": label },
    s("polyline", { points: points.join(" ") }),
  );
}

function loadBars(loads) {
  const sorted = Object.entries(loads).sort((a, b) => b[1] - a[1]);
  const most = Math.max(1, sorted[0][1]);
  const mean = sorted.reduce((sum, [, load]) => sum + load, 0) / sorted.length;
  const bar = ([matcher, load]) =>
    h(
      "li",
      {},
      h("span", {}, `Matcher ${matcher}`),
      h("meter", { min: 0, max: most, value: load }),
      h("span", { class: "figure" }, number(load)),
    );
  return h(
    "div",
    { class: "loads" },
    h("h3", {}, `Loads of the last batch: the busiest has ${number(most / Math.max(mean, 1e-9))} times the mean`),
    h("ul", { class: "plain" }, sorted.slice(0, 16).map(bar)),
  );
}

/** Read Prometheus' text: the sum of a metric over all its labels, or null if there is none. */
function samples(text) {
  const sums = new Map();
  for (const [, name, value] of text.matchAll(/^([a-zA-Z_:]\w*)(?:\{.*\})? (\S+)$/gm))
    sums.set(name, (sums.get(name) ?? 0) + Number(value));
  return (name) => sums.get(name) ?? null;
}
