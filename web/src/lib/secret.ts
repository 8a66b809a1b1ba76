/**
 * The id of this tab's session, which the page alone holds: storage belongs to an origin with its port, and no browser sends
 * it of its own. A cookie would go to every port of the host. Each tab stays with its session, so that two tabs may be of two
 * users; a new tab begins with the session of the latest that has signed in.
 */

import { decoded } from "./router.svelte";

const NAME = "leeward-session";
const HEADER = "X-Leeward-Session";
const LINK_KEY = /^#key=(.+)$/;
/** Where storage is switched off, this page alone is signed in. */
let held = "";

stored(() => {
  held = sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME) ?? "";
  if (held) sessionStorage.setItem(NAME, held);
});

/** Holds the session of whoever signs in, for this tab and for those that are opened later. */
export function keep(id: string): void {
  held = id;
  stored(() => {
    sessionStorage.setItem(NAME, id);
    localStorage.setItem(NAME, id);
  });
}

/** Forgets the session of this tab. What another tab has signed in stays. */
export function forget(): void {
  const gone = held;
  held = "";
  stored(() => {
    sessionStorage.removeItem(NAME);
    if (localStorage.getItem(NAME) === gone) localStorage.removeItem(NAME);
  });
}

export function sessionHeaders(): Record<string, string> {
  return held ? { [HEADER]: held } : {};
}

function stored(use: () => void): void {
  try {
    use();
  } catch {
    // Storage is switched off, and `held` counts.
  }
}

/** Takes the key of a link out of the address. Empty where there is none. */
export function takeLinkKey(): string {
  const key = LINK_KEY.exec(location.hash)?.[1] ?? "";
  if (key) history.replaceState(history.state, "", location.pathname + location.search);
  return decoded(key);
}
