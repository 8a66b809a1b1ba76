/** Rows of applications: which are asked for, and in which order. */

import { needsSomebody, ROW_STATES, SERVICE_LEVELS } from "./states";
import type { ApplicationRow, OutageApplication, RowState, ServiceLevel } from "./view";

export interface KeyedRow {
  key: string;
  row: ApplicationRow;
}

const ROW_RANK = new Map(ROW_STATES.map((state, index) => [state, index]));
const SERVICE_RANK = new Map(SERVICE_LEVELS.map((level, index) => [level, index]));

/** What rows are asked for; what is empty or left out asks nothing. `keys` are those of templates with some labels. */
export interface RowFilter {
  words?: string;
  state?: RowState | "";
  serving?: ServiceLevel | "";
  namespace?: string;
  policy?: string;
  cluster?: string;
  keys?: ReadonlySet<string> | null;
}

/** Rows that hold all words, in their name, namespace, kind, state or clusters, and are as asked; who serves nobody
 * first. */
export function chosenRows(rows: ReadonlyMap<string, ApplicationRow>, filter: RowFilter): KeyedRow[] {
  const { words = "", state, serving, namespace, policy, cluster, keys } = filter;
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found: KeyedRow[] = [];
  for (const [key, row] of rows) {
    const isAsked =
      (!state || row.state === state) &&
      (!serving || row.serving === serving) &&
      (!namespace || row.namespace === namespace) &&
      (!policy || row.policy === policy) &&
      (!cluster || isIn(row, cluster)) &&
      (!keys || keys.has(key));
    if (isAsked && wanted.every((word) => holds(key, row, word))) found.push({ key, row });
  }
  return found.sort((a, b) => rank(a) - rank(b) || (a.key < b.key ? -1 : 1));
}

export function isIn(row: ApplicationRow, cluster: string): boolean {
  return row.where.some((place) => place.cluster === cluster);
}

/** The order that a reader points at stays: what is new comes last, and nothing moves. */
export function heldOrder(rows: KeyedRow[], order: ReadonlyMap<string, number>): KeyedRow[] {
  const place = ({ key }: KeyedRow) => order.get(key) ?? order.size;
  return [...rows].sort((a, b) => place(a) - place(b));
}

export function countsOf(rows: Iterable<ApplicationRow>): Map<RowState, number> {
  const counts = new Map<RowState, number>();
  for (const row of rows) counts.set(row.state, (counts.get(row.state) ?? 0) + 1);
  return counts;
}

export function titleOf(row: { namespace?: string; name: string }): string {
  return row.namespace ? `${row.namespace}/${row.name}` : row.name;
}

/** Reasons that several rows of people's concern share: they are said once, above the list. */
export function sharedReasons(rows: Iterable<KeyedRow>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { row } of rows) {
    if (needsSomebody(row.state) && row.message) counts.set(row.message, (counts.get(row.message) ?? 0) + 1);
  }
  return new Map([...counts].filter(([, number]) => number > 1));
}

export interface HeldGroup {
  reason: string;
  number: number;
  shown: OutageApplication[];
}

/** Applications by the reason that they share, most first; `most` of them are shown. */
export function byReason(applications: readonly OutageApplication[], most: number): HeldGroup[] {
  const found = new Map<string, OutageApplication[]>();
  for (const each of applications) {
    const reason = each.message || each.reason || "";
    found.set(reason, [...(found.get(reason) ?? []), each]);
  }
  let left = most;
  return [...found]
    .sort(([, a], [, b]) => b.length - a.length)
    .flatMap(([reason, all]) => {
      const shown = all.slice(0, left);
      left -= shown.length;
      return shown.length > 0 ? [{ reason, number: all.length, shown }] : [];
    });
}

function holds(key: string, row: ApplicationRow, word: string): boolean {
  return key.toLowerCase().includes(word) || row.where.some((place) => place.cluster.toLowerCase().includes(word));
}

function rank({ row }: KeyedRow): number {
  const service = SERVICE_RANK.get(row.serving) ?? SERVICE_LEVELS.length;
  return service * (ROW_STATES.length + 1) + (ROW_RANK.get(row.state) ?? ROW_STATES.length);
}

/** Reasons of conditions whose message ends with the scheduler's text. */
const SCHEDULERS = new Set(["NoPlaceToGo", "NoClusterFit", "Unschedulable", "SchedulerError"]);

/** Cause alone, of the message of a condition; what the scheduler says stands behind it. The brake is one cause. */
export const causeOf = (each: { reason?: string; message?: string }): string => {
  if (each.reason === "BrakeEngaged")
    return "The brake stops evictions until the clusters are back, or until `leeward brake release`.";
  const message = each.message ?? "";
  const end = message.indexOf(". ");
  return SCHEDULERS.has(each.reason || "NoClusterFit") && end > 0 ? message.slice(0, end + 1) : message;
};
