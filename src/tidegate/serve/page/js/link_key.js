// A link may carry a key behind `#key=`, which is never sent to a server; nor does it stay in the address.

import { Problem, ask, keepForTab, key, showProblem } from "./api.js";
import { byId } from "./dom.js";

const LINK = /^#key=([^&]+)$/;

/** Whether the address has a key in it. */
export const bringsKey = () => LINK.test(location.hash);

/**
 * Take the key out of the address, and use it in this tab.
 *
 * Whoever is signed in already, as somebody else, is asked first. A key that is remembered on the device stays there.
 */
export async function takeKeyFromAddress(patiently) {
  const given = decodeURIComponent(LINK.exec(location.hash)[1]);
  history.replaceState(null, "", location.pathname);
  const kept = key();
  if (kept === null) return keepForTab(given);
  const [mine, theirs] = await patiently(() => Promise.all([nameOf(kept), nameOf(given)]));
  if (theirs === null) {
    const detail = `The key in the link was not issued here, or has been revoked. You are ${mine ?? "signed in"} as before.`;
    return mine && showProblem(new Problem({ title: "The link does not lead in", detail }));
  }
  if (mine === null || (mine !== theirs && (await goesOnAs(mine, theirs)))) keepForTab(given);
  return undefined;
}

/** Whose a key is; null if it is nobody's. */
async function nameOf(as) {
  try {
    return (await ask("GET", "me", { as })).name;
  } catch (problem) {
    if (problem.status === 401) return null;
    throw problem;
  }
}

function goesOnAs(mine, theirs) {
  const dialog = byId("which");
  for (const [name, value] of Object.entries({ mine, theirs })) {
    for (const place of dialog.querySelectorAll(`[data-name="${name}"]`)) place.textContent = value;
  }
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "go"), { once: true }),
  );
}
