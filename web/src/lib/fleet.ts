/** The fleet as it was told: resets and changes applied to keyed objects. Nothing here waits or draws. */

import type { Change, Collections, Reset } from "./view";

export type Told = { [Name in keyof Collections]: ReadonlyMap<string, Collections[Name][string]> };

const NAMES: (keyof Collections)[] = ["fleet", "clusters", "applications", "outages", "policies"];

export function nothingTold(): Told {
  return { fleet: new Map(), clusters: new Map(), applications: new Map(), outages: new Map(), policies: new Map() };
}

export function afterReset(reset: Reset): Told {
  return withChange(nothingTold(), { ...reset, set: reset.collections, unset: {} });
}

/** Collections that nothing has changed in stay the same maps. */
export function withChange(told: Told, change: Change): Told {
  const next: Record<string, ReadonlyMap<string, unknown>> = { ...told };
  for (const name of NAMES) {
    const set = Object.entries(change.set[name] ?? {});
    const unset = change.unset[name] ?? [];
    if (set.length === 0 && unset.length === 0) continue;
    const objects = new Map<string, unknown>(told[name]);
    for (const key of unset) objects.delete(key);
    for (const [key, object] of set) objects.set(key, object);
    next[name] = objects;
  }
  return next as Told;
}
