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

/** A rectangle with its numbers as fine as can be seen when so many degrees fit into the map. */
export function rounded({ west, south, east, north }, degrees) {
  const digits = degrees > 40 ? 1 : degrees > 4 ? 2 : 3;
  const round = (value, most) => Number(Math.max(-most, Math.min(most, value)).toFixed(digits));
  return { west: round(west, 180), south: round(south, 90), east: round(east, 180), north: round(north, 90) };
}
