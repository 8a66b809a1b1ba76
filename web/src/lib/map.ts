/** Clusters by region and zone, in the order of a map: regions by size, zones and clusters by name. */

import { totals } from "./room";
import { CLUSTER_STATES } from "./states";
import type { ClusterTile } from "./view";

export interface MapZone {
  name: string;
  tiles: ClusterTile[];
}

export interface MapRegion {
  name: string;
  provider: string;
  zones: MapZone[];
  clusters: number;
  /** Null where no cluster that is seen tells its cores. */
  coresFree: number | null;
}

/** From so many on, clusters are drawn small and sorted by state. */
export const SMALL_FROM = 40;

export function regionsOf(tiles: Iterable<ClusterTile>): MapRegion[] {
  const regions = [...grouped(tiles, (tile) => tile.region)].map(([name, there]) => regionOf(name, there));
  return regions.sort(
    (a, b) => Number(!a.name) - Number(!b.name) || b.clusters - a.clusters || a.name.localeCompare(b.name),
  );
}

export function worstFirst(tiles: Iterable<ClusterTile>): ClusterTile[] {
  const rank = (tile: ClusterTile) => CLUSTER_STATES.indexOf(tile.state);
  return [...tiles].sort((a, b) => rank(a) - rank(b) || byName(a, b));
}

function regionOf(name: string, tiles: ClusterTile[]): MapRegion {
  const zones = [...grouped(tiles, (tile) => tile.zone)].map(([zone, there]) => ({
    name: zone,
    tiles: there.sort(byName),
  }));
  const cores = totals(tiles).find((each) => each.resource === "cpu");
  const providers = new Set(tiles.map((tile) => tile.provider).filter(Boolean));
  return {
    name,
    provider: [...providers].sort().join(", "),
    zones: zones.sort((a, b) => a.name.localeCompare(b.name)),
    clusters: tiles.length,
    coresFree: cores?.free ?? null,
  };
}

function byName(a: ClusterTile, b: ClusterTile): number {
  return a.name.localeCompare(b.name, "en", { numeric: true });
}

function grouped<Item>(items: Iterable<Item>, key: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group) group.push(item);
    else groups.set(key(item), [item]);
  }
  return groups;
}
