// Rectangles as the language of subscriptions writes them, found in a query and put into it.

const RECTANGLE = /(-?)\bin:\s*\(([^()"“”]*)\)/i;

/** The first rectangle that a query asks for, as { west, south, east, north }, or null. */
export function rectangleIn(query) {
  const found = RECTANGLE.exec(query);
  if (!found || found[1]) return null;
  const [west, south, east, north, ...more] = found[2].split(",").map((text) => (text.trim() ? Number(text) : NaN));
  if (more.length || ![west, south, east, north].every(Number.isFinite)) return null;
  return { west, south, east, north };
}

/**
 * A query with a rectangle in place of the one it has, or beside what it asks for.
 *
 * What stands beside an OR belongs to one side of it, so alternatives are put in parentheses first.
 */
export function withRectangle(query, { west, south, east, north }) {
  const text = `in:(${west},${south},${east},${north})`;
  if (rectangleIn(query)) return query.replace(RECTANGLE, text);
  const words = query.trim();
  if (!words) return text;
  return `${hasBareOr(words) ? `(${words})` : words} ${text}`;
}

function hasBareOr(query) {
  let depth = 0;
  for (const [token] of query.matchAll(/["“”][^"“”]*["“”]|[()]|[^\s()"“”]+/g)) {
    if (token === "(") depth += 1;
    else if (token === ")") depth -= 1;
    else if (token === "OR" && depth === 0) return true;
  }
  return false;
}

/** How wide a rectangle is; one that ends west of where it begins goes on across the antimeridian. */
export const degreesWide = ({ west, east }) => (east < west ? east + 360 - west : east - west);

/**
 * A rectangle with its numbers as fine as can be seen when so many degrees fit into the map.
 *
 * Its east may lie beyond the antimeridian, as on a map that goes on: the rectangle then crosses it.
 */
export function rounded({ west, south, east, north }, degrees) {
  const digits = degrees > 40 ? 1 : degrees > 4 ? 2 : 3;
  const fine = (value) => Number(value.toFixed(digits));
  const lat = (value) => fine(Math.max(-90, Math.min(90, value)));
  const isWhole = east - west >= 360;
  const from = isWhole ? -180 : fine(around(west));
  const to = isWhole ? 180 : fine(around(east));
  // The antimeridian has two names: what begins there goes east from it, and what ends there has come from the west.
  return { west: from === 180 ? -180 : from, south: lat(south), east: to === -180 ? 180 : to, north: lat(north) };
}

/** The same longitude, from -180 on and below 180. */
const around = (lon) => lon - 360 * Math.floor((lon + 180) / 360);
