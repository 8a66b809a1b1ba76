/** Addresses of pages, and of questions to the server. */

import type { ClusterTile, ComingLine, OutageRow } from "./view";

/** How the server calls a namespace that is none. */
const NO_NAMESPACE = "-";

export function applicationPath(key: string): string {
  return `/applications/${keyPath(key)}`;
}

/** `payments/Deployment/ledger` as a path; an object without a namespace has an empty first part. */
export function keyPath(key: string): string {
  const [namespace = "", kind = "", ...name] = key.split("/");
  return [namespace || NO_NAMESPACE, kind, name.join("/")].map(encodeURIComponent).join("/");
}

export function keyOf([namespace = "", kind = "", ...name]: string[]): string {
  return [namespace === NO_NAMESPACE ? "" : namespace, kind, name.join("/")].join("/");
}

/** `Deployment payments/ledger`, as answers call it, as `payments/Deployment/ledger`. */
export function keyOfWorkload(workload: string): string {
  const [kind = "", name = ""] = workload.split(" ");
  const slash = name.indexOf("/");
  return slash < 0 ? `/${kind}/${name}` : `${name.slice(0, slash)}/${kind}/${name.slice(slash + 1)}`;
}

export function nameOfWorkload(workload: string): string {
  return workload.split(" ")[1] ?? workload;
}

export function outagePath(name: string): string {
  return `/outages/${encodeURIComponent(name)}`;
}

export function clusterPath(name: string): string {
  return `/clusters/${encodeURIComponent(name)}`;
}

/** `clocks`: flags that are imagined otherwise, in seconds. */
export function whatIfPath(fails: string[], clocks: Record<string, number> = {}): string {
  const query = new URLSearchParams(fails.map((name) => ["fail", name]));
  for (const [flag, seconds] of Object.entries(clocks)) query.set(flag.replace(/^--/, ""), String(seconds));
  return fails.length > 0 ? `/what-if?${query}` : "/what-if";
}

/** Where a tile leads: to its outage while there is one. */
export function tilePath(tile: ClusterTile, outages: Iterable<OutageRow>): string {
  for (const outage of outages) if (outage.running && outage.cluster === tile.name) return outagePath(outage.name);
  return clusterPath(tile.name);
}

/** Where a line of what is and comes leads, and how that is called. */
export function linkOf(line: ComingLine): { href: string; text: string } | null {
  const [kind, ...rest] = line.about.split("/");
  const name = rest.join("/");
  if (kind === "application")
    return { href: applicationPath(name), text: line.word === "Held" ? "See what would help" : "See why" };
  if (kind === "cluster") return { href: whatIfPath([name]), text: "What if" };
  if (kind === "outages") return { href: "/outages", text: "Outages" };
  if (kind === "outage") return { href: outagePath(name), text: "Outage" };
  if (line.word === "Due" || line.word === "Moving") return { href: `/applications?state=${line.word}`, text: "List" };
  if (line.word === "Held" || line.word === "NotPlaced" || line.word === "Hindered")
    return { href: `/applications?state=${line.word}`, text: "List" };
  if (line.word === "Harmless") return { href: "/applications?state=Hindered", text: "List" };
  return null;
}
