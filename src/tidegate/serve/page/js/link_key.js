// A link may carry a key behind `#key=`, which is never sent to a server; nor does it stay in the address.

import { Problem, ask, keepForTab, key } from "./api.js";
import { byId } from "./dom.js";

// What keys are made of; anything else, such as an escape that is none, brings nobody in.
const LINK = /^#key=([\w-]+)$/;
const NOBODYS = {
  title: "The link does not lead in",
  detail: "its key was not issued here, or has been revoked; you are signed in as before",
};

/** Whether the address has a key in it. */
export const bringsKey = () => LINK.test(location.hash);

/**
 * Take the key out of the address, and use it in this tab.
 *
 * Whoever is signed in already, as somebody else, is asked first. A key that is remembered on the device stays there.
 * Returns the problem with a key that is nobody's, if there is another to go on with.
 */
export async function takeKeyFromAddress(patiently) {
  const given = LINK.exec(location.hash)[1];
  history.replaceState(null, "", location.pathname);
  const kept = key();
  const [mine, theirs] = kept === null ? [null, null] : await patiently(() => Promise.all([kept, given].map(nameOf)));
  if (mine !== null && theirs === null) return new Problem(NOBODYS);
  if (mine === null || (mine !== theirs && (await goesOnAs(mine, theirs)))) keepForTab(given);
  return null;
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
