/**
 * The contract with the dashboard's server: what it sends, field by field.
 *
 * Instants are RFC 3339 texts in UTC. A field that the server may leave out, since it is at its default, is optional
 * here. Sentences about the fleet are made by the server alone; a page puts them beside figures and marks.
 */

export type Instant = string;

// ---- session ----

export type ActionName = "cordon" | "uncordon" | "drain" | "undo" | "brake-release" | "rebalance";

/** `GET /api/session`. `actions`: empty text where the user may, else why not. */
export interface SessionView {
  signedIn: boolean;
  controlPlane: string;
  byLink: boolean;
  user: string;
  session: string;
  actionsAllowed: boolean;
  actions: Partial<Record<ActionName, string>>;
  missing: string[];
}

/** Every answer that is not 2xx. */
export interface Failure {
  error: string;
}

// ---- the feed ----

/** A reset comes in chunks: `more` says that a `change` with the rest follows at once. Only the last bears an id. */
export interface Reset {
  id: string;
  at: Instant;
  more: boolean;
  collections: Partial<Collections>;
}

export interface Change {
  id: string;
  at: Instant;
  more: boolean;
  set: Partial<Collections>;
  unset: Partial<Record<keyof Collections, string[]>>;
}

/** By key: `fleet`; a cluster's name; `namespace/Kind/name`; an Outage's name; `namespace/Kind/name`. */
export interface Collections {
  fleet: Record<string, FleetSummary>;
  clusters: Record<string, ClusterTile>;
  applications: Record<string, ApplicationRow>;
  outages: Record<string, OutageRow>;
  policies: Record<string, PolicyRow>;
}

// ---- fleet ----

export type FleetMood = "Braked" | "NeedsSomebody" | "Outage" | "Failing" | "Well" | "Empty" | "Hidden";

export interface FleetSummary {
  controlPlane: string;
  mood: FleetMood;
  headline: string;
  detail: string;
  coming: ComingLine[];
  findings: Finding[];
  clusters: number;
  applications: number;
  replicas: number;
  states: Partial<Record<RowState, number>>;
  nobody: number;
  fewer: number;
  unknown: number;
  brake: BrakeView | null;
  settingsTold: boolean;
  silentSince: Instant | null;
  silence: string;
  unseen: string[];
  missing: string[];
  hidden: boolean;
}

export type ComingWord = "Held" | "NotPlaced" | "Hindered" | "Failing" | "Moving" | "Due" | "ToCome" | "Harmless";

/** `about`: `application/KEY`, `cluster/NAME`, `outage/NAME`, or empty. */
export interface ComingLine {
  at: Instant | null;
  word: ComingWord;
  sentence: string;
  about: string;
}

export interface Finding {
  severity: "NeedsSomebody" | "Soon";
  about: string;
  sentence: string;
  details: string[];
  next: string;
}

export interface BrakeView {
  engaged: boolean;
  overruled: boolean;
  since: Instant | null;
  message: string;
  sentence: string;
  dead: number;
  needed: number;
  clusters: number;
  /** Applications that it keeps where they are. */
  holds: string;
}

// ---- clusters ----

export type ClusterState =
  | "Unreadable"
  | "Not ready"
  | "Unknown"
  | "Not seen"
  | "No report"
  | "Failing"
  | "Leaving"
  | "Draining"
  | "Drained"
  | "Cordoned"
  | "Held down"
  | "Ready";

export interface ClusterTile {
  name: string;
  state: ClusterState;
  mode: string;
  region: string;
  zone: string;
  provider: string;
  version: string;
  since: Instant | null;
  note: string;
  taints: string[];
  unseenSince: Instant | null;
  /** The shortest first. */
  room: Amount[];
  nodes: number | null;
  nodesReady: number | null;
  replicas: number;
  applications: number;
  next: NextStep[];
  coverage: string;
  covered: boolean | null;
}

/** In cores, bytes or Pods. */
export interface Amount {
  resource: "cpu" | "memory" | "pods";
  allocatable: number;
  requested: number;
  reserved: number;
  free: number;
}

export interface NextStep {
  at: Instant | null;
  sentence: string;
}

// ---- applications ----

export type RowState =
  "Held" | "NotPlaced" | "Hindered" | "Moving" | "Due" | "Undecided" | "Waiting" | "Kept" | "Moved" | "InPlace";

export interface ApplicationRow {
  kind: string;
  namespace: string;
  name: string;
  state: RowState;
  ready: number;
  wanted: number;
  where: CopyPlace[];
  since: Instant | null;
  next: string;
  nextAt: Instant | null;
  reason: string;
  message: string;
  outage: string;
  serving: ServiceLevel;
  /** `NAMESPACE/NAME` of the policy that claims it. */
  policy: string;
}

/** Service of an application, worst first. */
export type ServiceLevel = "Nobody" | "Fewer" | "Starting" | "Unknown" | "Whole";

export interface CopyPlace {
  cluster: string;
  replicas: number;
  ready: number | null;
  seen: boolean;
  leaving: boolean;
}

/** `GET /api/applications/NAMESPACE/KIND/NAME`; a namespace that is none is `-`. */
export interface ApplicationDetail {
  explanation: Explanation;
  dependencies: Dependency[];
  history: HistoryLine[];
}

export type ApplicationState =
  "Held" | "NotPlaced" | "Hindered" | "Outage" | "Moving" | "NotServing" | "Waiting" | "Kept" | "Well";

export interface Explanation {
  controlPlane: string;
  asOf: Instant;
  workload: string;
  binding: string;
  replicas: number;
  state: ApplicationState;
  headline: string;
  reason: string;
  where: CopyRow[];
  why: string[];
  policies: PolicyClaim[];
  verdicts: ClusterVerdict[];
  room: RoomRow[];
  divisions: DivisionStep[];
  next: NextStep[];
  helps: Help[];
  decides: Record<string, number>;
  askedAnew: boolean;
  reasonsAt: Instant | null;
  settingsTold: boolean;
  unseen: string[];
  /** Null while all clusters are to have the revision that is asked for. */
  rollout: Rollout | null;
}

/** A change on its way from stage to stage; revisions have their short names. */
export interface Rollout {
  reason: string;
  message: string;
  target: string;
  proven: string;
  underWay: boolean;
  stage: string;
  began: Instant | null;
  clusters: { cluster: string; stage: string; revision: string; sentence: string }[];
  steps: { at: Instant; revision: string; reason: string; message: string; stage?: string }[];
  next: string;
  nextAt: Instant | null;
  command: string;
  gain: string;
}

export interface CopyRow {
  cluster: string;
  assigned: number;
  ready: number | null;
  what: string;
  /** Since when it is there at least; null where nothing is known to be there. */
  thereSince: Instant | null;
}

export interface PolicyClaim {
  kind: string;
  name: string;
  namespace: string;
  priority: number;
  precision: number;
}

/** `plugin` is empty for clusters that pass all filters. */
export interface ClusterVerdict {
  clusters: string[];
  plugin: string;
  reason: string;
}

export interface RoomRow {
  cluster: string;
  resource: string;
  allocatable: number;
  requested: number;
  reserved: number;
  free: number;
  each: number;
  room: number;
  byNodes: boolean;
}

export interface DivisionStep {
  replicas: number;
  weights: Record<string, number>;
  initial: Record<string, number>;
  result: Record<string, number>;
}

/** `command` makes the change, or shows the thing that is to change. */
export interface Help {
  change: string;
  effect: string;
  command: string;
}

/** `missing`: clusters to which it may go and in which this is not; `taken`: a policy takes it along. */
export interface Dependency {
  kind: string;
  name: string;
  taken: boolean;
  clusters: string[];
  missing: string[];
}

export interface HistoryLine {
  at: Instant;
  word: string;
  sentence: string;
  outage: string;
}

/** `GET /api/manifests/NAMESPACE/KIND/NAME`: read in the user's own name, without the values of Secrets. */
export interface ShownManifests {
  manifests: ShownManifest[];
}

/** `problem` says why it cannot be read. */
export interface ShownManifest {
  part: string;
  title: string;
  yaml: string;
  problem: string;
}

/** `GET /api/labelled?selector=`: keys of the applications whose templates have these labels. */
export interface Labelled {
  keys: string[];
  problems: string[];
}

// ---- outages ----

export type OutagePhase = "Running" | "Returned" | "Over";

export interface OutageRow {
  name: string;
  cluster: string;
  phase: OutagePhase;
  running: boolean;
  since: Instant;
  returnedAt: Instant | null;
  cleanedAt: Instant | null;
  headline: string;
  tally: string;
  recovery: string;
  applications: number;
  moved: number;
  moving: number;
  due: number;
  kept: number;
  held: number;
  returned: number;
  medianSeconds: number | null;
  worstSeconds: number | null;
}

/** `GET /api/outages/NAME`: `leeward timeline NAME -o json` of one outage. */
export interface OutageStory {
  name: string;
  cluster: string;
  running: boolean;
  headline: string;
  tally: string;
  recovery: string;
  story: StoryLine[];
  applications: OutageApplication[];
  spec: { cluster: string; since: Instant };
  status: OutageStatus;
}

/** `GET /api/outages/NAME/report`: what `leeward timeline -o markdown` prints. */
export interface MarkdownReport {
  markdown: string;
}

export type Tone = "Bad" | "NeedsSomebody" | "Leaves" | "Good" | "Plain" | "ToCome";

export interface StoryLine {
  at: Instant | null;
  afterSeconds: number | null;
  tone: Tone;
  sentence: string;
}

export type MoveState = "Due" | "Held" | "Kept" | "Moving" | "Moved" | "Returned";

export interface OutageApplication {
  kind: string;
  name: string;
  state: MoveState;
  namespace?: string;
  replicas?: number;
  to?: Record<string, number>;
  toleratedSeconds?: number | null;
  dueAt?: Instant | null;
  leftAt?: Instant | null;
  healthyAt?: Instant | null;
  recoverySeconds?: number | null;
  reason?: string;
  message?: string;
  told?: Record<string, Instant>;
}

/** Whatever is at its default is left out, as it is of the object. */
export interface OutageStatus {
  phase: OutagePhase;
  lasted: string;
  reason?: string;
  message?: string;
  failedAt?: Instant | null;
  notReadyAt?: Instant | null;
  noExecuteAt?: Instant | null;
  returnedAt?: Instant | null;
  cleanedAt?: Instant | null;
  failures?: number;
  braked?: boolean;
  applications: number;
  due: number;
  held: number;
  kept: number;
  moving: number;
  moved: number;
  returned: number;
  recovery?: RecoveryTimes;
  steps?: OutageStep[];
  omittedSteps?: number;
  curve?: OutageCounts[];
  listed?: OutageApplication[];
}

export interface RecoveryTimes {
  count?: number;
  medianSeconds?: number;
  worstSeconds?: number;
  worst?: string;
  times?: { seconds: number; count: number }[];
}

export interface OutageStep {
  at: Instant;
  kind: string;
  reason?: string;
  message?: string;
  until?: Instant | null;
  applications?: number;
  to?: string[];
  toleratedSeconds?: number | null;
  healthy?: number;
  healthyAt?: Instant | null;
}

export interface OutageCounts {
  at: Instant;
  due?: number;
  held?: number;
  kept?: number;
  moving?: number;
  moved?: number;
  returned?: number;
}

// ---- what if ----

/** `GET /api/what-if?fail=A&fail=B&drain=C&recover-after=SECONDS`, and the clocks as flags without dashes in front: the
 * answer, and its sentences. */
export interface WhatIfView {
  headline: string;
  detail: string;
  command: string;
  answer: WhatIf;
}

export type Fate = "NoRoom" | "Held" | "Changed" | "Moves" | "Kept" | "Stays";

export interface WhatIf {
  controlPlane: string;
  asOf: Instant;
  fails: string[];
  drained: string[];
  lostBefore: string[];
  applications: ApplicationFate[];
  clusters: ClusterFate[];
  instants: { at: Instant; afterSeconds: number; kind: InstantKind; sentence: string }[];
  losses: ReturnLosses;
  braked: boolean;
  cutOff: boolean;
  settingsTold: boolean;
  missingDependencies: { workload: string; cluster: string; needs: string; known: boolean }[];
  /** Changes that would give what finds no room a place: each was tried. */
  helps: Help[];
  /** Clusters whose nodes are counted by grade; of any other the sum of what is free counts. */
  byGrade: string[];
  /** Flags that are imagined otherwise than they are, in seconds. */
  clocks: Record<string, number>;
  unseen: string[];
  /** The brake would hold what fails for a while, if it fell silent and did not refuse. */
  heldIfSilent: boolean;
}

export type InstantKind = "NotReady" | "Ready" | "NoExecute" | "BrakeEngaged" | "BrakeReleased" | "Leaves";

export interface ApplicationFate {
  workload: string;
  binding: string;
  fate: Fate;
  before: Record<string, number>;
  after: Record<string, number>;
  replicas: number;
  missing: number;
  leftAt: Instant | null;
  reason: string;
  message: string;
  /** Of all that is missing; null where nothing is said of one. */
  coresMissing: number | null;
  /** Of `replicas`: of these `missing` are somebody's to care for, not those of a copy that is kept by choice. */
  serves: number;
  /** Replicas without a node, by cluster. */
  waiting: Record<string, number>;
  /** Missing ones that find no room by the grades of nodes, and do by the sum of what is free. */
  bySum: number;
  /** Sentences on gates that hold its replacements, and on its rollout that the outage meets. */
  gates: string[];
  rollout: string[];
  /** A sentence on the group with which it moves. */
  group: string[];
}

export interface ClusterFate {
  cluster: string;
  change: string;
  replicasBefore: number;
  replicasAfter: number;
  coresFreeBefore: number | null;
  coresFreeAfter: number | null;
  /** Replicas that have no node there. */
  waiting: number;
  /** What it has then, the shortest first; nothing where it is lost. */
  room: Amount[];
}

export interface ReturnLosses {
  kinds: Record<string, number>;
  customResources: string[];
  addresses: string[];
  definitions: string[];
  claims: string[];
}

/** `GET /api/resilience` */
export interface Resilience {
  controlPlane: string;
  asOf: Instant;
  by: string;
  losses: LossReport[];
  withoutSecondPlace: string[];
  unseen: string[];
}

export interface LossReport {
  loss: string;
  clusters: string[];
  applications: number;
  moving: number;
  kept: number;
  wanting: number;
  missing: number;
  braked: boolean;
  worst: ApplicationFate[];
  alone: string[];
  /** Of the clusters that take something over. */
  fullest: { cluster: string; share: number; tight: boolean; resource: Amount["resource"] } | null;
  /** Applications that serve nobody then, and replicas that have no node. */
  nobody: number;
  waiting: number;
  /** Missing ones that the sum of what is free has room for, and the grades of nodes do not. */
  bySum: number;
}

// ---- policies ----

export interface PolicyRow {
  kind: string;
  namespace: string;
  name: string;
  priority: number;
  preemption: boolean;
  suspended: boolean;
  selects: string[];
  claims: number;
  /** Clusters to which it lets applications go, and how long they stay in one that is lost. */
  goes: string;
  tolerates: string;
}

/** `GET /api/lint` */
export interface LintReport {
  asked: string;
  objects: number;
  findings: LintFinding[];
  ignored: number;
  unasked: { rule: string; name: string; why: string }[];
  unseen: string[];
}

export interface LintFinding {
  rule: string;
  name: string;
  level: "error" | "warning" | "note";
  about: string;
  sentence: string;
  mend: string;
  file: string;
  line: number;
  field: string;
}

// ---- acting ----

/** `POST /api/actions/NAME`, with and without `?dry-run`. */
export interface ActionRequest {
  cluster?: string;
  workload?: string;
  namespace?: string;
  /** Of a drain: so many move at the same time, 0 for all. */
  budget?: number;
}

/** `whatIf` is what the change itself would do, shown before it is confirmed; `done` is false of a dry run. */
export interface ActionResult {
  sentence: string;
  done: boolean;
  whatIf: WhatIfView | null;
}
