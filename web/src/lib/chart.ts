/** Geometry of an outage's time line: lanes above, and below them where the applications are, on one axis of time. */

import { clockTime, instant, span, type Zone } from "./times";
import type { OutageCounts, OutageStory } from "./view";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 10080].map((minutes) => minutes * MINUTE);
const SECOND_STEPS = [5, 10, 15, 30].map((seconds) => seconds * SECOND);
/** Room for one word of the axis, in pixels. */
const TICK_PIXELS = 96;

export interface Span {
  from: number;
  to: number;
  text: string;
  kind: "ok" | "warn" | "bad" | "wait" | "ahead";
}

export interface Lane {
  name: string;
  spans: Span[];
}

export interface Counts {
  at: number;
  moved: number;
  moving: number;
  held: number;
  kept: number;
  due: number;
  returned: number;
}

export type CountName = Exclude<keyof Counts, "at">;

export interface Axis {
  from: number;
  to: number;
  now: number;
}

/** From a little before the first failure until what is yet to come, or until it is over. */
export function axisOf(story: OutageStory, now: number): Axis {
  const since = instant(story.spec.since) ?? now;
  const ended = instant(story.status.cleanedAt) ?? instant(story.status.returnedAt) ?? now;
  const until = story.running ? now : ended;
  const ahead = story.running ? Math.max(0, ...dues(story).map((at) => at - now)) : 0;
  const shown = until - since;
  const margin = Math.max(10 * SECOND, shown * 0.06);
  const to =
    until +
    (ahead > 0
      ? Math.min(ahead, Math.max(shown, MINUTE)) + margin
      : Math.max(margin, shown * (story.running ? 0.18 : 0.05)));
  return { from: since - margin, to, now: until };
}

export function ticksOf(axis: Axis, width: number): number[] {
  const most = Math.max(2, Math.floor(width / TICK_PIXELS));
  const whole = axis.to - axis.from;
  const step = [...SECOND_STEPS, ...STEPS].find((each) => whole / each <= most) ?? whole / most;
  const first = Math.ceil(axis.from / step) * step;
  return Array.from(
    { length: Math.max(0, Math.floor((axis.to - first) / step) + 1) },
    (_, index) => first + index * step,
  );
}

export function isWholeMinutes(ticks: number[]): boolean {
  return ticks.every((at) => at % MINUTE === 0);
}

export function lanesOf(story: OutageStory, axis: Axis): Lane[] {
  const { status } = story;
  const since = instant(story.spec.since) ?? axis.from;
  const returned = instant(status.returnedAt);
  const end = returned ?? axis.now;
  const notReady = instant(status.notReadyAt);
  const noExecute = instant(status.noExecuteAt);
  const after: Span[] = returned === null ? [] : [{ from: returned, to: axis.now, text: "", kind: "ok" }];
  const lanes: Lane[] = [
    {
      name: "Answers",
      spans: [
        { from: axis.from, to: since, text: "", kind: "ok" },
        { from: since, to: end, text: status.message || status.reason || "no", kind: "bad" },
        ...after,
      ],
    },
    { name: "Ready", spans: [{ from: axis.from, to: notReady ?? end, text: "True", kind: "ok" }, ...after] },
    { name: "Taints", spans: [] },
    { name: "Tolerations", spans: tolerationsOf(story, noExecute, axis) },
  ];
  if (notReady !== null) {
    lanes[1]?.spans.splice(1, 0, {
      from: notReady,
      to: end,
      text: `False${status.reason ? `: ${status.reason}` : ""}`,
      kind: "bad",
    });
    lanes[2]?.spans.push({ from: notReady, to: noExecute ?? end, text: "NoSchedule", kind: "warn" });
  }
  if (noExecute !== null) lanes[2]?.spans.push({ from: noExecute, to: end, text: "NoExecute", kind: "bad" });
  return lanes;
}

/** Each toleration ends where its applications leave; those that are yet to end are drawn as such. */
function tolerationsOf(story: OutageStory, noExecute: number | null, axis: Axis): Span[] {
  if (noExecute === null) return [];
  const seconds = new Set<number>();
  for (const each of story.applications) if (each.toleratedSeconds) seconds.add(each.toleratedSeconds);
  for (const each of story.status.steps ?? []) if (each.toleratedSeconds) seconds.add(each.toleratedSeconds);
  let from = noExecute;
  const spans: Span[] = [];
  for (const each of [...seconds].sort((a, b) => a - b)) {
    const to = noExecute + each * SECOND;
    if (from >= axis.to) break;
    spans.push({
      from,
      to: Math.min(to, axis.to),
      text: span(each),
      kind: to > axis.now ? "ahead" : "wait",
    });
    from = to;
  }
  return spans;
}

/** Counts at each instant at which they changed, from the first failure until now. */
export function countsOf(story: OutageStory, axis: Axis): Counts[] {
  const total = story.status.applications;
  const since = instant(story.spec.since) ?? axis.from;
  const known = (story.status.curve ?? []).map(filled).filter((each) => each.at >= since);
  const first: Counts = { at: since, moved: 0, moving: 0, held: 0, kept: 0, returned: 0, due: total };
  const last = known.at(-1);
  const end: Counts = { at: axis.now, ...now(story) };
  const counts = [first, ...known];
  if (!last || last.at < axis.now) counts.push(end);
  return counts.sort((a, b) => a.at - b.at);
}

/** What was so at an instant: the last counts before it. */
export function countsAt(counts: Counts[], at: number): Counts | null {
  let found: Counts | null = null;
  for (const each of counts) if (each.at <= at) found = each;
  return found;
}

export function axisTime(at: number, zone: Zone, minutes: boolean): string {
  return clockTime(at, zone, !minutes);
}

function now(story: OutageStory): Omit<Counts, "at"> {
  const { due, held, kept, moving, moved, returned } = story.status;
  return { due, held, kept, moving, moved, returned };
}

function filled(each: OutageCounts): Counts {
  const { due = 0, held = 0, kept = 0, moving = 0, moved = 0, returned = 0 } = each;
  return { at: instant(each.at) ?? 0, due, held, kept, moving, moved, returned };
}

function dues(story: OutageStory): number[] {
  return story.story.filter((line) => line.tone === "ToCome").flatMap((line) => instant(line.at) ?? []);
}
