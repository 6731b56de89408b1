// The map: coasts and borders, dots for posts, and a rectangle. Panned, zoomed and drawn on by mouse, touch and keys.
// Degrees are drawn as they are (plate carrée), so a rectangle in degrees is one on the screen. East of the world it is
// drawn once more, and west of it: so one can go around it, and rectangles across the antimeridian are whole.

import { h, s, say } from "./dom.js";
import { degreesWide, rounded } from "./place_syntax.js";

const AROUND = 360;
const WHOLE = { x: -180, y: -84, width: AROUND, height: 144 }; // without the ice of the south
const CLOSEST = 2;
const STEP = 1.6;
const HELP = [
  "Map of the world.",
  "Arrow keys move it, plus and minus zoom.",
  "Enter begins a rectangle: arrow keys move it, with Shift they resize it,",
  "Enter puts it into the query, Escape gives it up.",
].join(" ");
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class WorldMap {
  #svg;
  #dots = s("path", { class: "dots" });
  #strong = s("path", { class: "dots strong" });
  #box = s("rect", { class: "box" });
  #view = { ...WHOLE };
  #rectangle = null;
  #pointers = new Map();
  #corner = null;
  #drawButton;
  #drawn;

  /** Fill an element; `drawn(rectangle)` when somebody has drawn one. */
  constructor(element, drawn) {
    this.#drawn = drawn;
    this.#svg = s(
      "svg",
      {
        tabindex: 0,
        role: "application",
        "aria-label": HELP,
        onpointerdown: (event) => this.#press(event),
        onpointermove: (event) => this.#move(event),
        onpointerup: (event) => this.#release(event),
        onpointercancel: (event) => this.#release(event),
        onkeydown: (event) => this.#key(event),
      },
      s(
        "g",
        { id: "world" },
        s("path", { class: "land" }),
        s("path", { class: "borders" }),
        this.#dots,
        this.#strong,
        this.#box,
      ),
      s("use", { href: "#world", x: -AROUND }),
      s("use", { href: "#world", x: AROUND }),
    );
    // A wheel moves the page, unless somebody is busy with the map or says that zooming is meant.
    this.#svg.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.#drawButton = h(
      "button",
      { type: "button", "aria-pressed": "false", onclick: () => this.#drawing(!this.isDrawing) },
      "Draw a rectangle",
    );
    element.append(
      this.#svg,
      h(
        "div",
        { class: "tools" },
        this.#drawButton,
        h("button", { type: "button", "aria-label": "Zoom in", onclick: () => this.#zoom(1 / STEP) }, "+"),
        h("button", { type: "button", "aria-label": "Zoom out", onclick: () => this.#zoom(STEP) }, "−"),
        h("button", { type: "button", onclick: () => this.#look(WHOLE) }, "Whole world"),
      ),
    );
    this.#look(WHOLE);
    this.#outline();
  }

  get isDrawing() {
    return this.#drawButton.getAttribute("aria-pressed") === "true";
  }

  /** Show posts that have places, those that match more strongly. */
  show(posts, matching) {
    this.#dots.setAttribute("d", dots(posts));
    this.#strong.setAttribute("d", dots(matching));
  }

  /** Show a rectangle, or none. */
  set rectangle(rectangle) {
    this.#rectangle = rectangle;
    const { west = 0, south = 0, east = 0, north = 0 } = rectangle ?? {};
    // One across the antimeridian goes on beyond the edge, where the world is drawn once more.
    const width = degreesWide({ west, east });
    const place = { x: west, y: -north, width, height: Math.max(0, north - south) };
    for (const [name, value] of Object.entries(place)) this.#box.setAttribute(name, value);
  }

  async #outline() {
    const answer = await fetch("world.json");
    if (!answer.ok) return;
    const { units, land, borders } = await answer.json();
    for (const [name, path] of Object.entries({ land, borders })) {
      const element = this.#svg.querySelector(`.${name}`);
      element.setAttribute("d", path);
      element.setAttribute("transform", `scale(${1 / units})`);
    }
  }

  #look({ x, y, width }) {
    width = Math.min(WHOLE.width, Math.max(CLOSEST, width));
    const height = (width * WHOLE.height) / WHOLE.width;
    const within = (value, from, to) => Math.max(from, Math.min(to, value));
    // Who drags does so within the three worlds that are drawn, and is back in the middle one afterwards.
    if (this.#pointers.size === 0) x -= AROUND * Math.floor((x - WHOLE.x) / AROUND);
    x = within(x, WHOLE.x - AROUND, WHOLE.x + 2 * AROUND - width);
    y = within(y, WHOLE.y, WHOLE.y + WHOLE.height - height);
    this.#view = { x, y, width, height };
    this.#svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  }

  /** Show more or less of the world, and keep a point where it is: the middle, if no other is named. */
  #zoom(factor, point = null) {
    const { x, y, width, height } = this.#view;
    const fixed = point ?? { x: x + width / 2, y: y + height / 2 };
    const size = Math.min(WHOLE.width, Math.max(CLOSEST, width * factor));
    const real = size / width;
    this.#look({ x: fixed.x - (fixed.x - x) * real, y: fixed.y - (fixed.y - y) * real, width: size });
  }

  #drawing(isDrawing) {
    this.#drawButton.setAttribute("aria-pressed", String(isDrawing));
    this.#svg.classList.toggle("is-drawing", isDrawing);
  }

  #point(event) {
    const seen = this.#svg.getBoundingClientRect();
    const { x, y, width, height } = this.#view;
    // Whoever draws beyond the edge means the edge.
    const left = this.#corner ? Math.max(0, Math.min(seen.width, event.clientX - seen.left)) : event.clientX - seen.left;
    return {
      x: x + (left / seen.width) * width,
      y: y + ((event.clientY - seen.top) / seen.height) * height,
    };
  }

  #press(event) {
    if (event.button !== 0) return;
    this.#svg.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, this.#point(event));
    if (this.isDrawing && this.#pointers.size === 1) this.#corner = this.#point(event);
    else this.#corner = null;
  }

  #move(event) {
    const before = this.#pointers.get(event.pointerId);
    if (!before) return;
    const now = this.#point(event);
    if (this.#corner) {
      this.rectangle = this.#spanned(this.#corner, now);
      return;
    }
    if (this.#pointers.size === 2) {
      const [other] = [...this.#pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      const far = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
      this.#zoom(far(before, other) / Math.max(far(now, other), 0.01), other);
    } else {
      this.#look({ ...this.#view, x: this.#view.x + before.x - now.x, y: this.#view.y + before.y - now.y });
    }
    this.#pointers.set(event.pointerId, this.#point(event));
  }

  #release(event) {
    this.#pointers.delete(event.pointerId);
    if (!this.#corner) return this.#look(this.#view);
    const rectangle = this.#spanned(this.#corner, this.#point(event));
    this.#corner = null;
    if (event.type !== "pointercancel" && isSpan(rectangle)) this.#finish(rectangle);
    return undefined;
  }

  #spanned(a, b) {
    const edges = {
      west: Math.min(a.x, b.x),
      east: Math.max(a.x, b.x),
      south: -Math.max(a.y, b.y),
      north: -Math.min(a.y, b.y),
    };
    return rounded(edges, this.#view.width);
  }

  #finish(rectangle) {
    this.#drawing(false);
    this.#drawn(rectangle);
    say("The rectangle is in the query.");
  }

  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.#svg) return;
    event.preventDefault();
    this.#zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, this.#point(event));
  }

  #key(event) {
    const direction = KEYS[event.key];
    if (direction && this.isDrawing) this.#nudge(direction, event.shiftKey);
    else if (direction) {
      const { x, y, width, height } = this.#view;
      this.#look({ ...this.#view, x: x + (direction[0] * width) / 8, y: y + (direction[1] * height) / 8 });
    } else if (event.key === "+" || event.key === "=") this.#zoom(1 / STEP);
    else if (event.key === "-") this.#zoom(STEP);
    else if (event.key === "Enter" && this.isDrawing && this.#rectangle) this.#finish(this.#rectangle);
    else if (event.key === "Enter") this.#begin();
    else if (event.key === "Escape" && this.isDrawing) this.#drawing(false);
    else return;
    event.preventDefault();
  }

  /** A rectangle in the middle of what is seen, for the keys to move. */
  #begin() {
    const { x, y, width, height } = this.#view;
    const at = (part) => ({ x: x + width * part, y: y + height * part });
    this.#drawing(true);
    this.rectangle = this.#spanned(at(0.375), at(0.625));
    say("A rectangle is in the middle of the map. Arrow keys move it, with Shift they resize it; Enter takes it.");
  }

  #nudge([right, down], isResizing) {
    if (!this.#rectangle) return this.#begin();
    const step = this.#view.width / 48;
    const { west, south, north } = this.#rectangle;
    const east = west + degreesWide(this.#rectangle);
    const moved = isResizing ? 0 : step;
    const edges = {
      west: west + right * moved,
      east: east + right * step,
      south: south - down * step,
      north: north - down * moved,
    };
    if (edges.west < edges.east && edges.south < edges.north) this.rectangle = rounded(edges, this.#view.width);
    return undefined;
  }
}

const isSpan = ({ west, south, east, north }) => degreesWide({ west, east }) > 0 && south < north;

/** Points as strokes without length: they are as large at every zoom. */
function dots(posts) {
  return posts
    .filter(({ lat, lon }) => Number.isFinite(lat) && Number.isFinite(lon))
    .map(({ lat, lon }) => `M${lon} ${-lat}h0`)
    .join("");
}
