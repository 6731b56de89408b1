// Elements, made of text and never of markup: whatever a post says, it stays text.

const SVG = "http://www.w3.org/2000/svg";

/** The element with an id. */
export const byId = (id) => document.getElementById(id);

/** Make an element: properties are attributes, or listeners if they begin with `on`; null and false are left out. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function s(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Let those who hear the page instead of seeing it know. */
export function say(text) {
  byId("said").textContent = text;
}

/** Call `work` when nobody has asked for so many milliseconds. */
export function debounced(work, milliseconds) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}

/** Call `work` soon after it is asked for, and not more often than this. */
export function throttled(work, milliseconds) {
  let timer = null;
  return () => {
    timer ??= setTimeout(() => {
      timer = null;
      work();
    }, milliseconds);
  };
}

/** Call `work` every so many milliseconds, while somebody looks at an element. */
export function whileSeen(element, milliseconds, work) {
  const look = () => {
    if (!document.hidden && !element.hidden) work();
  };
  setInterval(look, milliseconds);
  document.addEventListener("visibilitychange", look);
}

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const FINE = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

/** A number as people read it. */
export const number = (value) => (Math.abs(value) < 10 && value % 1 ? FINE : WHOLE).format(value);
