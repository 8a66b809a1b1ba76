/** Amounts of a cluster's resources, as figures with their unit. */

import type { Amount, ClusterTile } from "./view";

const GIB = 1024 ** 3;
const UNITS: Record<Amount["resource"], { unit: string; name: string; each: number; digits: number }> = {
  cpu: { unit: "cores", name: "cores", each: 1, digits: 1 },
  memory: { unit: "GiB", name: "memory", each: GIB, digits: 0 },
  pods: { unit: "Pods", name: "Pods", each: 1, digits: 0 },
};

export const RESOURCES = Object.keys(UNITS) as Amount["resource"][];

/** `12.5`, without its unit. */
export function figure(amount: Amount, value: number): string {
  const { each, digits } = UNITS[amount.resource];
  return (value / each).toFixed(digits);
}

/** Of how much there is, without decimals that say nothing. */
export function whole(amount: Amount): string {
  return (amount.allocatable / UNITS[amount.resource].each).toFixed(0);
}

export function unitOf(amount: Pick<Amount, "resource">): string {
  return UNITS[amount.resource].unit;
}

/** `150 % of its memory` */
export function fullness(resource: Amount["resource"], share: number): string {
  return `${Math.round(100 * share)} % of its ${UNITS[resource].name}`;
}

/** Share that is requested or reserved. */
export function shareOf(amount: Amount): number {
  return amount.allocatable > 0 ? 1 - amount.free / amount.allocatable : 0;
}

export function amountOf(tile: Pick<ClusterTile, "room">, resource: Amount["resource"]): Amount | null {
  return tile.room.find((each) => each.resource === resource) ?? null;
}

/** Sums over the clusters that are seen, the shortest first. */
export function totals(tiles: ClusterTile[]): Amount[] {
  const seen = tiles.filter((tile) => tile.unseenSince === null);
  const sums = RESOURCES.flatMap((resource) => {
    const told = seen.flatMap((tile) => amountOf(tile, resource) ?? []);
    const sum = (pick: (each: Amount) => number) => told.reduce((all, each) => all + pick(each), 0);
    return told.length === 0
      ? []
      : {
          resource,
          allocatable: sum((each) => each.allocatable),
          requested: sum((each) => each.requested),
          reserved: sum((each) => each.reserved),
          free: sum((each) => each.free),
        };
  });
  return sums.sort((a, b) => shareOf(b) - shareOf(a));
}
