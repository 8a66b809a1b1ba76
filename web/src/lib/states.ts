/** Closed sets of states, each with its word, its shape and its tone. Order is worst first. */

import type {
  ApplicationRow,
  ClusterState,
  ComingWord,
  InstantKind,
  MoveState,
  RowState,
  ServiceLevel,
  Tone,
} from "./view";

export type IconName =
  | "ready"
  | "failing"
  | "notready"
  | "unknown"
  | "cordoned"
  | "draining"
  | "flapping"
  | "moved"
  | "moving"
  | "held"
  | "due"
  | "kept"
  | "cross"
  | "brake";

/** `solid` is for what needs a person, and nothing else. */
export type BadgeTone = "ok" | "moving" | "warn" | "bad" | "solid" | "plain";

export interface Mark {
  word: string;
  icon: IconName;
  tone: BadgeTone;
}

export const CLUSTER_MARKS: Record<ClusterState, Mark & { tile: string }> = {
  Unreadable: { word: "Unreadable", icon: "unknown", tone: "bad", tile: "notready" },
  "Not ready": { word: "Not ready", icon: "notready", tone: "bad", tile: "notready" },
  Unknown: { word: "Unknown", icon: "unknown", tone: "bad", tile: "notready" },
  "Not seen": { word: "Not seen", icon: "unknown", tone: "warn", tile: "failing" },
  "No report": { word: "No report", icon: "unknown", tone: "warn", tile: "failing" },
  Failing: { word: "Failing", icon: "failing", tone: "warn", tile: "failing" },
  Leaving: { word: "Leaving", icon: "draining", tone: "plain", tile: "cordoned" },
  Draining: { word: "Draining", icon: "draining", tone: "moving", tile: "cordoned" },
  Drained: { word: "Drained", icon: "draining", tone: "plain", tile: "cordoned" },
  Cordoned: { word: "Cordoned", icon: "cordoned", tone: "plain", tile: "cordoned" },
  "Held down": { word: "Flapping", icon: "flapping", tone: "warn", tile: "failing" },
  Ready: { word: "Ready", icon: "ready", tone: "ok", tile: "ready" },
};

export const ROW_MARKS: Record<RowState, Mark> = {
  Held: { word: "Cannot move", icon: "held", tone: "solid" },
  NotPlaced: { word: "Not placed", icon: "held", tone: "solid" },
  Hindered: { word: "Hindered", icon: "held", tone: "solid" },
  Moving: { word: "Moving", icon: "moving", tone: "moving" },
  Due: { word: "About to move", icon: "due", tone: "warn" },
  Undecided: { word: "Not decided yet", icon: "due", tone: "warn" },
  Waiting: { word: "Waiting", icon: "due", tone: "plain" },
  Kept: { word: "Stays by choice", icon: "kept", tone: "plain" },
  Moved: { word: "Moved", icon: "moved", tone: "ok" },
  InPlace: { word: "In place", icon: "ready", tone: "ok" },
};

/** Service of an application, worst first; solid is for those that are down. */
export const SERVICE_MARKS: Record<ServiceLevel, Mark> = {
  Nobody: { word: "Down", icon: "notready", tone: "solid" },
  Fewer: { word: "Fewer replicas", icon: "failing", tone: "warn" },
  Starting: { word: "Starting", icon: "moving", tone: "plain" },
  Unknown: { word: "Not known", icon: "unknown", tone: "plain" },
  Whole: { word: "Whole", icon: "ready", tone: "ok" },
};

/** The decision of a row; what hinders an application that is whole is no alarm. */
export function decisionOf(row: ApplicationRow): Mark {
  const mark = ROW_MARKS[row.state];
  return row.state === "Hindered" && row.serving === "Whole" ? { ...mark, tone: "warn" } : mark;
}

export const SERVICE_LEVELS = Object.keys(SERVICE_MARKS) as ServiceLevel[];
export const ROW_STATES = Object.keys(ROW_MARKS) as RowState[];
export const CLUSTER_STATES = Object.keys(CLUSTER_MARKS) as ClusterState[];

export const COMING_MARKS: Record<ComingWord, Mark> = {
  Held: ROW_MARKS.Held,
  NotPlaced: ROW_MARKS.NotPlaced,
  Hindered: ROW_MARKS.Hindered,
  Failing: CLUSTER_MARKS.Failing,
  Moving: ROW_MARKS.Moving,
  Due: ROW_MARKS.Due,
  ToCome: { word: "To come", icon: "due", tone: "plain" },
  Harmless: { ...ROW_MARKS.Hindered, tone: "warn" },
};

export const MOVE_MARKS: Record<MoveState, Mark> = {
  Due: ROW_MARKS.Due,
  Held: ROW_MARKS.Held,
  Kept: ROW_MARKS.Kept,
  Moving: ROW_MARKS.Moving,
  Moved: ROW_MARKS.Moved,
  Returned: { word: "Serves there again", icon: "ready", tone: "ok" },
};

export const TONE_MARKS: Record<Tone, { icon: IconName; colour: string }> = {
  Bad: { icon: "notready", colour: "bad" },
  NeedsSomebody: { icon: "held", colour: "bad" },
  Leaves: { icon: "moving", colour: "move" },
  Good: { icon: "moved", colour: "ok" },
  Plain: { icon: "ready", colour: "dim" },
  ToCome: { icon: "due", colour: "dim" },
};

export const INSTANT_MARKS: Record<InstantKind, { icon: IconName; colour: string }> = {
  NotReady: { icon: "notready", colour: "bad" },
  NoExecute: { icon: "notready", colour: "bad" },
  BrakeEngaged: { icon: "brake", colour: "bad" },
  BrakeReleased: { icon: "brake", colour: "dim" },
  Leaves: { icon: "moving", colour: "move" },
  Ready: { icon: "ready", colour: "dim" },
};

export function needsSomebody(state: RowState): boolean {
  return ROW_MARKS[state].tone === "solid";
}
