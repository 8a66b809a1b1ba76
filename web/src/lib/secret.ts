/**
 * The id of the session, which the page alone holds: storage belongs to an origin with its port, and no browser sends it of
 * its own. A cookie would go to every port of the host.
 */

import { decoded } from "./router.svelte";

const NAME = "leeward-session";
const HEADER = "X-Leeward-Session";
const LINK_KEY = /^#key=(.+)$/;
/** Where storage is switched off, this page alone is signed in. */
let held = "";

export function keep(id: string): void {
  held = id;
  try {
    if (id) localStorage.setItem(NAME, id);
    else localStorage.removeItem(NAME);
  } catch {
    // Nothing is stored, and `held` counts.
  }
}

export function sessionHeaders(): Record<string, string> {
  let id = held;
  try {
    id = localStorage.getItem(NAME) ?? "";
  } catch {
    // Nothing is stored, and `held` counts.
  }
  return id ? { [HEADER]: id } : {};
}

/** Takes the key of a link out of the address. Empty where there is none. */
export function takeLinkKey(): string {
  const key = LINK_KEY.exec(location.hash)?.[1] ?? "";
  if (key) history.replaceState(history.state, "", location.pathname + location.search);
  return decoded(key);
}
