/**
 * A fleet made by hand, typed as what the server sends: 12 clusters in 3 regions, and fra-2 down for eleven minutes.
 *
 * It stands in for a server where the page is looked at alone, in all its states, and with ten thousand applications.
 *
 * @import * as View from "../src/lib/view"
 */

const NOW = Date.parse("2026-11-22T02:41:17Z");
const DAY = 86_400;

/** @param {number} seconds before now @returns {string} */
const ago = (seconds) => new Date(NOW - seconds * 1000).toISOString().replace(".000Z", "Z");

/** @type {[string, string, string, string, number, number, number, number, number][]} */
const CLUSTERS = [
  ["iad-1", "us", "iad-a", "Push", 192, 122.8, 0, 62, 26],
  ["iad-2", "us", "iad-b", "Push", 192, 117.1, 0, 40, 23],
  ["ord-1", "us", "ord-a", "Push", 128, 74.2, 0, 64, 25],
  ["ord-2", "us", "ord-b", "Pull", 96, 45.1, 0, 37, 13],
  ["fra-1", "eu", "fra-a", "Push", 192, 165.5, 15, 91, 45],
  ["fra-2", "eu", "fra-b", "Push", 192, 61, 0, 18, 7],
  ["fra-3", "eu", "fra-c", "Push", 128, 113.2, 4, 72, 37],
  ["ams-1", "eu", "ams-a", "Push", 160, 142.5, 6, 65, 37],
  ["ams-2", "eu", "ams-b", "Push", 96, 38.5, 0, 39, 19],
  ["sin-1", "ap", "sin-a", "Push", 128, 84.5, 0, 52, 21],
  ["sin-2", "ap", "sin-b", "Push", 128, 79.4, 0, 50, 25],
  ["syd-1", "ap", "syd-a", "Pull", 96, 52.9, 0, 44, 16],
];

/** @type {Record<string, Partial<View.ClusterTile>>} */
const SAID = {
  "fra-2": { state: "Not ready", since: ago(660), unseenSince: ago(690), note: "connection refused", taints: ["cluster.karmada.io/not-ready:NoExecute"] },
  "syd-1": {
    state: "Failing",
    since: ago(28),
    note: "no heartbeat",
    next: [{ at: ago(-12), sentence: "syd-1 counts as not Ready, unless it answers again" }],
  },
  "ord-2": { state: "Cordoned", since: ago(122_400), note: "cordoned by platform: node upgrade" },
  "fra-1": { covered: false, coverage: "without fra-1, 47 replicas of 26 applications would find no room" },
};

/** @returns {Record<string, View.ClusterTile>} */
function clusters() {
  /** @type {Record<string, View.ClusterTile>} */
  const tiles = {};
  for (const [name, region, zone, mode, allocatable, requested, reserved, replicas, applications] of CLUSTERS) {
    tiles[name] = {
      name,
      state: "Ready",
      mode,
      region,
      zone,
      provider: "example",
      version: "v1.34.1",
      since: ago(20 * DAY),
      note: "",
      taints: [],
      unseenSince: null,
      cores: { allocatable, requested, reserved, free: allocatable - requested - reserved },
      nodes: 12,
      nodesReady: 12,
      replicas,
      applications,
      next: [],
      coverage: "",
      covered: null,
      ...SAID[name],
    };
  }
  return tiles;
}

const NO_ROOM = "3 of its 9 replicas find no room: each asks for 12 cores, and fra-1 has 11.5 left, ams-1 11.5 and fra-3 10.8";
const KEPT = "it runs in all 11 other clusters: a move would add no copy";

/** @param {string} name @param {Partial<View.ApplicationRow>} rest @returns {View.ApplicationRow} */
function row(name, rest) {
  const [namespace = "", own = ""] = name.split("/");
  return {
    kind: "Deployment",
    namespace,
    name: own,
    state: "InPlace",
    ready: 3,
    wanted: 3,
    where: [place("fra-1", 2), place("ams-1", 1)],
    since: ago(20 * DAY),
    next: "",
    nextAt: null,
    reason: "",
    message: "",
    outage: "",
    ...rest,
  };
}

/** @param {string} cluster @param {number} replicas @returns {View.CopyPlace} */
const place = (cluster, replicas) => ({ cluster, replicas, ready: replicas, seen: true, leaving: false });

const OUTAGE = "fra-2-20261122-022947";

/** @param {number} many @returns {Record<string, View.ApplicationRow>} */
function applications(many) {
  const lost = { ...place("fra-2", 3), ready: null, seen: false };
  const rows = [
    row("payments/ledger", { state: "Held", ready: 5, wanted: 9, where: [place("fra-1", 4), lost, place("ams-1", 2)], since: ago(60), next: "waits for room", reason: "NoPlaceToGo", message: NO_ROOM, outage: OUTAGE }),
    ...["media/transcode", "ml/ranker-serving", "search/query"].map((name) =>
      row(name, { state: "Moving", ready: 1, wanted: 5, since: ago(60), next: "leaves fra-2 when its replacement is healthy", outage: OUTAGE }),
    ),
    ...["analytics/exports", "analytics/rollup", "bi/reports", "data/etl-orders"].map((name) =>
      row(name, { state: "Due", ready: 2, wanted: 4, where: [lost, place("ams-1", 1)], since: ago(690), next: "leaves fra-2", nextAt: ago(-240), outage: OUTAGE }),
    ),
    ...["platform/otel-collector", "platform/image-cache"].map((name) =>
      row(name, { kind: "DaemonSet", state: "Kept", ready: 11, wanted: 12, where: CLUSTERS.map(([cluster]) => place(cluster, 1)), reason: "NothingToGain", message: KEPT }),
    ),
    ...Array.from({ length: 24 }, (_, index) =>
      row(`shop/moved-${String(index).padStart(2, "0")}`, { state: "Moved", since: ago(10 + index * 9), message: "to fra-1:2, fra-3:1", outage: OUTAGE }),
    ),
  ];
  for (let index = rows.length; index < many; index++) {
    const clusters = index % 2 ? [place("sin-1", 2), place("sin-2", 1)] : [place("iad-1", 2), place("ord-1", 1)];
    rows.push(row(`team-${String(index % 97).padStart(2, "0")}/app-${String(index).padStart(5, "0")}`, { where: clusters }));
  }
  return Object.fromEntries(rows.map((each) => [`${each.namespace}/${each.kind}/${each.name}`, each]));
}

/** @type {View.MoveCounts} */
const MOVES = { applications: 34, moved: 24, moving: 3, due: 4, kept: 2, held: 1, returned: 0 };

/** @param {number} many @returns {View.FleetSummary} */
function summary(many) {
  return {
    controlPlane: "prod-hub",
    mood: "Outage",
    headline: "fra-2 has been down for 11 min",
    detail: "24 of its 34 applications run elsewhere. 1 needs somebody. The rest needs nothing.",
    coming: [
      { at: null, word: "Held", sentence: `payments/ledger: ${NO_ROOM}`, about: "application/payments/Deployment/ledger" },
      { at: ago(0), word: "Moving", sentence: "3 applications wait for healthy replacements: media/transcode (1 of 5), ml/ranker-serving (1 of 5), search/query (1 of 5)", about: "" },
      { at: ago(-12), word: "Failing", sentence: "syd-1 counts as not Ready, unless it answers again", about: "cluster/syd-1" },
      { at: ago(-240), word: "Due", sentence: "4 applications leave fra-2", about: "" },
      { at: null, word: "ToCome", sentence: "fra-2 returns: the old copies of 24 applications are deleted there", about: `outage/${OUTAGE}` },
    ],
    findings: [],
    clusters: CLUSTERS.length,
    applications: many,
    replicas: 634,
    states: { Held: 1, Moving: 3, Due: 4, Kept: 2, Moved: 24, InPlace: many - 34 },
    moves: MOVES,
    brake: { engaged: false, overruled: false, since: null, message: "", sentence: "1 of 12 clusters looks dead. It would hold evictions from 7.", dead: 1, needed: 7, clusters: 12 },
    settingsTold: true,
    silentSince: null,
    silence: "",
    unseen: [],
    missing: [],
    hidden: false,
  };
}

/** @returns {View.OutageRow} */
function outageRow() {
  return {
    name: OUTAGE,
    cluster: "fra-2",
    phase: "Running",
    running: true,
    since: ago(690),
    returnedAt: null,
    cleanedAt: null,
    headline: "fra-2, running for 11 min 30 s: 24 of 34 moved, 3 moving, 4 due, 2 kept, 1 held",
    tally: "24 of 34 moved, 3 moving, 4 due, 2 kept, 1 held",
    recovery: "median 10 min 50 s, worst 11 min 22 s",
    ...MOVES,
    medianSeconds: 650,
    worstSeconds: 682,
  };
}

/** @returns {View.OutageStory} */
function story() {
  /** @param {View.OutageApplication} each */
  const of = (each) => each;
  const moved = Array.from({ length: 24 }, (_, index) =>
    of({ kind: "Deployment", namespace: "shop", name: `moved-${String(index).padStart(2, "0")}`, state: "Moved", replicas: 3, to: { "fra-1": 2, "fra-3": 1 }, toleratedSeconds: index < 9 ? 60 : 300, leftAt: ago(index < 9 ? 300 : 60), healthyAt: ago(index < 9 ? 264 + index : 8 + index), recoverySeconds: index < 9 ? 420 - index : 682 - index }),
  );
  const { headline, tally, recovery } = outageRow();
  return {
    name: OUTAGE,
    cluster: "fra-2",
    running: true,
    headline,
    tally,
    recovery,
    story: [
      { at: ago(690), afterSeconds: 0, tone: "Bad", sentence: "first failed probe: dial tcp 10.20.1.4:6443: connection refused" },
      { at: ago(660), afterSeconds: 30, tone: "Bad", sentence: "not-ready, nothing new is placed there" },
      { at: ago(360), afterSeconds: 330, tone: "Bad", sentence: "not-ready:NoExecute" },
      { at: ago(300), afterSeconds: 390, tone: "Leaves", sentence: "9 applications leave (tolerate 1 min), to fra-1 fra-3 ams-1" },
      { at: ago(264), afterSeconds: 426, tone: "Good", sentence: "all 9 healthy" },
      { at: ago(60), afterSeconds: 630, tone: "Leaves", sentence: "19 applications leave (tolerate 5 min), to fra-1 fra-3 ams-1" },
      { at: ago(60), afterSeconds: 630, tone: "NeedsSomebody", sentence: "payments/ledger is held: NoPlaceToGo" },
      { at: ago(8), afterSeconds: 682, tone: "Good", sentence: "15 of 19 healthy" },
      { at: ago(0), afterSeconds: 690, tone: "Plain", sentence: "now" },
      { at: ago(-240), afterSeconds: 930, tone: "ToCome", sentence: "4 applications leave" },
      { at: null, afterSeconds: null, tone: "ToCome", sentence: "fra-2 returns: the old copies of 24 applications are deleted there" },
    ],
    applications: [
      of({ kind: "Deployment", namespace: "payments", name: "ledger", state: "Held", replicas: 4, to: { "fra-1": 1 }, reason: "NoPlaceToGo", message: NO_ROOM, toleratedSeconds: 300 }),
      ...["media/transcode", "ml/ranker-serving", "search/query"].map((name) => {
        const [namespace = "", own = ""] = name.split("/");
        return of({ kind: "Deployment", namespace, name: own, state: "Moving", replicas: 4, to: { "fra-1": 2, "ams-1": 2 }, leftAt: ago(60), toleratedSeconds: 300, message: "1 of 4 ready" });
      }),
      ...["analytics/exports", "analytics/rollup", "bi/reports", "data/etl-orders"].map((name) => {
        const [namespace = "", own = ""] = name.split("/");
        return of({ kind: "Deployment", namespace, name: own, state: "Due", replicas: 3, dueAt: ago(-240), toleratedSeconds: 600 });
      }),
      ...["otel-collector", "image-cache"].map((name) => of({ kind: "DaemonSet", namespace: "platform", name, state: "Kept", replicas: 1, reason: "NothingToGain", message: KEPT })),
      ...moved,
    ],
    spec: { cluster: "fra-2", since: ago(690) },
    status: {
      phase: "Running",
      lasted: "running",
      reason: "ClusterNotReachable",
      message: "connection refused",
      notReadyAt: ago(660),
      noExecuteAt: ago(360),
      ...MOVES,
      recovery: { count: 24, medianSeconds: 650, worstSeconds: 682, worst: "mobile/push-gateway" },
      curve: [
        { at: ago(690), due: 34 },
        { at: ago(660), due: 32, kept: 2 },
        { at: ago(300), due: 23, kept: 2, moving: 9 },
        { at: ago(287), due: 23, kept: 2, moving: 5, moved: 4 },
        { at: ago(264), due: 23, kept: 2, moved: 9 },
        { at: ago(60), due: 4, kept: 2, held: 1, moving: 18, moved: 9 },
        { at: ago(40), due: 4, kept: 2, held: 1, moving: 11, moved: 16 },
        { at: ago(25), due: 4, kept: 2, held: 1, moving: 6, moved: 21 },
        { at: ago(8), due: 4, kept: 2, held: 1, moving: 3, moved: 24 },
      ],
    },
  };
}

/** @returns {View.ApplicationDetail} */
function detail() {
  return {
    explanation: {
      controlPlane: "prod-hub",
      asOf: ago(0),
      workload: "Deployment/ledger",
      binding: "payments/ledger-deployment",
      replicas: 9,
      state: "Held",
      headline: "3 of 9 replicas find no room",
      reason: "NoPlaceToGo",
      where: [
        { cluster: "fra-1", assigned: 4, ready: 3, what: "1 of them starts" },
        { cluster: "fra-2", assigned: 3, ready: null, what: "last seen 11 min 30 s ago with 4 of 4 ready" },
        { cluster: "ams-1", assigned: 2, ready: 2, what: "" },
      ],
      why: ["fra-2 has the taint not-ready:NoExecute since 02:35:17.", "It tolerates that for 5 min, so 4 replicas were due at 02:40:17; 1 has found room."],
      policies: [
        { kind: "PropagationPolicy", name: "eu-only", namespace: "payments", priority: 10, precision: 3 },
        { kind: "PropagationPolicy", name: "default", namespace: "payments", priority: 0, precision: 1 },
      ],
      verdicts: [
        { clusters: ["fra-1", "fra-3", "ams-1"], plugin: "", reason: "" },
        { clusters: ["ams-2"], plugin: "TaintToleration", reason: "dedicated=batch:NoSchedule" },
        { clusters: ["fra-2"], plugin: "TaintToleration", reason: "not-ready:NoExecute" },
        { clusters: ["iad-1", "iad-2", "ord-1", "ord-2", "sin-1", "sin-2", "syd-1"], plugin: "ClusterAffinity", reason: "region in (eu)" },
      ],
      room: [
        { cluster: "fra-1", resource: "cpu", allocatable: 192, requested: 165.5, reserved: 3, free: 23.5, each: 12, room: 1, byNodes: false },
        { cluster: "ams-1", resource: "cpu", allocatable: 160, requested: 142.5, reserved: 6, free: 11.5, each: 12, room: 0, byNodes: false },
        { cluster: "fra-3", resource: "cpu", allocatable: 128, requested: 113.2, reserved: 4, free: 10.8, each: 12, room: 0, byNodes: false },
      ],
      divisions: [{ replicas: 4, weights: { "fra-1": 1, "fra-3": 0, "ams-1": 0 }, initial: {}, result: { "fra-1": 1 } }],
      next: [],
      helps: [
        { change: "tolerate dedicated=batch:NoSchedule", effect: "ams-2 has room for 4" },
        { change: "free 0.5 cores in fra-1 and in ams-1", effect: "2 of 3 would follow" },
        { change: "fra-2 comes back", effect: "its 3 run again at once" },
      ],
      decides: {},
      askedAnew: false,
      reasonsAt: null,
      settingsTold: true,
      unseen: [],
    },
    dependencies: [
      { kind: "ConfigMap", name: "ledger-config", taken: true, clusters: ["fra-1", "ams-1"], missing: [] },
      { kind: "Secret", name: "ledger-db", taken: true, clusters: ["fra-1", "ams-1"], missing: [] },
      { kind: "ConfigMap", name: "ledger-limits", taken: false, clusters: ["fra-1", "ams-1"], missing: ["fra-3"] },
    ],
    history: [
      { at: ago(60), word: "Held", sentence: NO_ROOM, outage: OUTAGE },
      { at: ago(690), word: "Not seen", sentence: "fra-2 is not seen any more", outage: OUTAGE },
    ],
  };
}

/** @param {string[]} fails @returns {View.WhatIfView} */
function whatIf(fails) {
  const lost = new Set(fails);
  return {
    headline: "1 of 3 applications would find no room",
    detail: "The brake stays idle: 3 of 12 clusters would look dead, it holds evictions from 7.",
    command: `leeward what-if --fail ${fails.join(",")}`,
    answer: {
      controlPlane: "prod-hub",
      asOf: ago(0),
      fails,
      drained: [],
      lostBefore: ["fra-2"],
      applications: [
        { workload: "shop/promo", binding: "shop/promo-deployment", fate: "NoRoom", before: { "iad-1": 4 }, after: {}, replicas: 4, missing: 4, leftAt: ago(-390), reason: "NoPlaceToGo", message: "its policy allows region us only; ord-1 is full and ord-2 is cordoned" },
        { workload: "ads/bidder", binding: "ads/bidder-deployment", fate: "Moves", before: { "iad-1": 2 }, after: { "ord-1": 2 }, replicas: 2, missing: 0, leftAt: ago(-390), reason: "", message: "" },
        { workload: "platform/otel-collector", binding: "platform/otel-collector-daemonset", fate: "Kept", before: { "iad-1": 1 }, after: { "iad-1": 1 }, replicas: 12, missing: 0, leftAt: null, reason: "NothingToGain", message: KEPT },
      ],
      clusters: CLUSTERS.map(([cluster, , , , allocatable, requested, reserved, replicas]) => ({
        cluster,
        change: lost.has(cluster) ? "lost" : "",
        replicasBefore: replicas,
        replicasAfter: lost.has(cluster) ? 0 : cluster === "ord-1" ? replicas + 62 : replicas,
        coresFreeBefore: allocatable - requested - reserved,
        coresFreeAfter: lost.has(cluster) ? null : cluster === "ord-1" ? 0.4 : allocatable - requested - reserved,
      })),
      instants: [
        { at: ago(0), afterSeconds: 0, sentence: `${fails.join(" and ")} fail` },
        { at: ago(-30), afterSeconds: 30, sentence: "counts as not Ready, nothing new is placed there" },
        { at: ago(-330), afterSeconds: 330, sentence: "gets the taint NoExecute" },
        { at: ago(-390), afterSeconds: 390, sentence: "3 applications that tolerate 1 min leave" },
      ],
      losses: { kinds: { Deployment: 24, Service: 9, ConfigMap: 31 }, customResources: [], addresses: ["203.0.113.20 (ads/creatives)"], definitions: [], claims: ["data/ledger-0"] },
      braked: false,
      cutOff: false,
      settingsTold: true,
      missingDependencies: [],
      unseen: [],
    },
  };
}

/** @returns {View.Resilience} */
function resilience() {
  const losses = CLUSTERS.map(([loss, , , , , , , , applications], index) => ({
    loss,
    clusters: [loss],
    applications,
    moving: Math.max(0, applications - 2),
    kept: 2,
    wanting: loss === "fra-1" ? 26 : loss === "fra-3" ? 16 : 0,
    missing: loss === "fra-1" ? 47 : loss === "fra-3" ? 29 : 0,
    braked: false,
    worst: [],
    alone: index === 4 ? ["payments/ledger"] : [],
  }));
  return { controlPlane: "prod-hub", asOf: ago(0), by: "cluster", losses, withoutSecondPlace: ["payments/ledger"], unseen: [] };
}

/** @type {Record<string, View.PolicyRow>} */
const POLICIES = Object.fromEntries(
  ["eu-only", "default", "everywhere"].map((name, index) => [
    `payments/PropagationPolicy/${name}`,
    { kind: "PropagationPolicy", namespace: "payments", name, priority: 10 - index * 5, preemption: index === 0, suspended: false, selects: ["Deployment of any name by labels"], claims: 12 - index * 4 },
  ]),
);

/** @type {View.LintReport} */
const LINT = {
  asked: "prod-hub",
  objects: 139,
  findings: [
    { rule: "L012", name: "missing-dependency", level: "warning", about: "ConfigMap payments/ledger-limits", sentence: "is selected by no policy: Pods elsewhere would wait for it", mend: "select it, or set propagateDeps", file: "", line: 0, field: "" },
  ],
  ignored: 0,
  unasked: [],
  unseen: [],
};

/** @type {View.SessionView} */
export const SIGNED_IN = {
  signedIn: true,
  controlPlane: "prod-hub",
  byLink: true,
  user: "operator",
  csrf: "c",
  actionsAllowed: true,
  actions: { cordon: "", uncordon: "", drain: "", undo: "", "brake-release": "operator may not patch configmaps", rebalance: "" },
  missing: [],
};
/** @type {View.SessionView} */
export const SIGNED_OUT = { ...SIGNED_IN, signedIn: false, user: "", csrf: "", actions: {}, actionsAllowed: false };

/** @param {string} scene @param {number} many @returns {View.Reset} */
export function reset(scene, many) {
  const fleet = summary(many);
  const collections = { clusters: clusters(), applications: applications(many), outages: { [OUTAGE]: outageRow() }, policies: POLICIES };
  return { id: "fixture-1", at: ago(0), more: false, collections: { ...collections, ...scenes[scene]?.(fleet), fleet: { fleet: { ...fleet, ...moods[scene] } } } };
}

/** @type {Record<string, Partial<View.FleetSummary>>} */
const moods = {
  calm: { mood: "Well", headline: "All 12 clusters are ready", detail: "139 applications, 634 replicas, all where they should be.", coming: [], moves: null, brake: { engaged: false, overruled: false, since: null, message: "", sentence: "No cluster looks dead. It would hold evictions from 7.", dead: 0, needed: 7, clusters: 12 } },
  brake: { mood: "Braked", headline: "7 of 12 clusters look dead: evictions are held", detail: "Nothing is moved or deleted while the brake is engaged.", brake: { engaged: true, overruled: false, since: ago(135), message: "7 of 12 clusters look dead: the control plane may be cut off. No automatic eviction starts.", sentence: "7 of 12 clusters look dead. It holds all automatic evictions.", dead: 7, needed: 7, clusters: 12 } },
  empty: { mood: "Empty", headline: "No cluster has joined", detail: "`leeward join NAME` joins one", coming: [], moves: null, brake: null },
  norights: { mood: "Hidden", headline: "The clusters may not be seen", detail: "34 applications may be seen.", coming: [], moves: null, brake: null, hidden: true, missing: ["may not list clusters.cluster.karmada.io"] },
  silent: { silentSince: ago(40), silence: "https://hub.prod.internal:6443 does not answer." },
};

/** @type {Record<string, (fleet: View.FleetSummary) => Partial<View.Collections>>} */
const scenes = {
  calm: () => ({ clusters: Object.fromEntries(Object.entries(clusters()).map(([name, tile]) => [name, { ...tile, state: /** @type {const} */ ("Ready"), note: "", next: [], unseenSince: null, since: ago(20 * DAY) }])), outages: {} }),
  empty: () => ({ clusters: {}, applications: {}, outages: {}, policies: {} }),
  norights: () => ({ clusters: {}, outages: {} }),
  many: () => ({
    clusters: Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => {
        const [base] = Object.values(clusters());
        const name = `c-${String(index).padStart(3, "0")}`;
        return [name, { .../** @type {View.ClusterTile} */ (base), name, state: index === 7 ? /** @type {const} */ ("Not ready") : /** @type {const} */ ("Ready") }];
      }),
    ),
  }),
  hostile: () => {
    const name = `<img src=x onerror="document.title='owned'">`;
    const bad = row(`team/${name}`, { state: "Held", message: `<script>document.title='owned'</script>${name}`, next: name });
    const tile = { .../** @type {View.ClusterTile} */ (clusters()["fra-2"]), name, note: name, region: name, zone: name };
    return { clusters: { [name]: tile }, applications: { [`team/Deployment/${name}`]: bad } };
  },
};

/** @param {string} path @param {URLSearchParams} query @returns {unknown} */
export function answerTo(path, query) {
  if (path.startsWith("/api/outages/")) return path.endsWith(OUTAGE) ? story() : null;
  if (path.startsWith("/api/applications/")) return path.endsWith("/payments/Deployment/ledger") ? detail() : null;
  if (path === "/api/what-if") return whatIf(query.getAll("fail"));
  if (path === "/api/resilience") return resilience();
  if (path === "/api/lint") return LINT;
  return null;
}

/** @param {string} name @param {boolean} dryRun @returns {View.ActionResult} */
export function acted(name, dryRun) {
  return { sentence: dryRun ? `${name} would be done.` : `${name} is done.`, done: !dryRun, whatIf: dryRun ? whatIf(["iad-1"]) : null };
}

export { NOW };
