/**
 * A fleet made by hand: 12 clusters in 3 regions, fra-2 down for eleven minutes; typed as what the server sends.
 *
 * @import * as View from "../src/lib/view"
 */

export const NOW = Date.parse("2026-11-22T02:41:17Z");
export const DAY = 86_400;

/** @param {number} seconds before now @returns {string} */
export const ago = (seconds) => new Date(NOW - seconds * 1000).toISOString().replace(".000Z", "Z");

/** @type {[string, string, string, string, number, number, number, number, number][]} */
export const CLUSTERS = [
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
  "fra-2": {
    state: "Not ready",
    since: ago(660),
    unseenSince: ago(690),
    note: "connection refused",
    taints: ["cluster.karmada.io/not-ready:NoExecute"],
  },
  "syd-1": {
    state: "Failing",
    since: ago(28),
    note: "no heartbeat",
    next: [{ at: ago(-12), sentence: "syd-1 counts as not Ready, unless it answers again" }],
  },
  "ord-2": { state: "Cordoned", since: ago(122_400), note: "cordoned by platform: node upgrade" },
  "fra-1": { covered: false, coverage: "without fra-1, 47 replicas of 26 applications would find no room" },
};

/** Room of a cluster of so many cores; four GiB for each. @param {number} cores @param {number} requested @param {number} reserved @param {number} replicas @returns {View.Amount[]} */
export function room(cores, requested, reserved, replicas) {
  const GIB = 4 * 1024 ** 3;
  /** @param {View.Amount["resource"]} resource @param {number} allocatable @param {number} asked @param {number} kept @returns {View.Amount} */
  const amount = (resource, allocatable, asked, kept) => ({
    resource,
    allocatable,
    requested: asked,
    reserved: kept,
    free: allocatable - asked - kept,
  });
  const all = [
    amount("cpu", cores, requested, reserved),
    amount("memory", cores * GIB, requested * GIB * 0.7, reserved * GIB * 0.7),
    amount("pods", 220, replicas * 2, 0),
  ];
  return all.sort((a, b) => a.free / a.allocatable - b.free / b.allocatable);
}

/** @returns {Record<string, View.ClusterTile>} */
export function clusters() {
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
      room: room(allocatable, requested, reserved, replicas),
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

export const NO_ROOM =
  "3 of its 9 replicas find no room: each asks for 12 cores, and fra-1 has 11.5 left, ams-1 11.5 and fra-3 10.8";
export const KEPT = "it runs in all 11 other clusters: a move would add no copy";

/** @param {string} name @param {Partial<View.ApplicationRow>} rest @returns {View.ApplicationRow} */
export function row(name, rest) {
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
    serving: "Whole",
    policy: namespace === "payments" ? "payments/eu-only" : "everywhere",
    ...rest,
  };
}

/** @param {string} cluster @param {number} replicas @returns {View.CopyPlace} */
const place = (cluster, replicas) => ({ cluster, replicas, ready: replicas, seen: true, leaving: false });

export const OUTAGE = "fra-2-20261122-022947";

/** @param {number} many @returns {Record<string, View.ApplicationRow>} */
export function applications(many) {
  const lost = { ...place("fra-2", 3), ready: null, seen: false };
  const rows = [
    row("payments/ledger", {
      state: "Held",
      serving: "Fewer",
      ready: 5,
      wanted: 9,
      where: [place("fra-1", 4), lost, place("ams-1", 2)],
      since: ago(60),
      next: "waits for free capacity",
      reason: "NoPlaceToGo",
      message: NO_ROOM,
      outage: OUTAGE,
    }),
    ...["media/transcode", "ml/ranker-serving", "search/query"].map((name) =>
      row(name, {
        state: "Moving",
        serving: "Fewer",
        ready: 1,
        wanted: 5,
        since: ago(60),
        next: "leaves fra-2 when its replacement is healthy",
        outage: OUTAGE,
      }),
    ),
    ...["analytics/exports", "analytics/rollup", "bi/reports", "data/etl-orders"].map((name) =>
      row(name, {
        state: "Due",
        serving: "Fewer",
        ready: 2,
        wanted: 4,
        where: [lost, place("ams-1", 1)],
        since: ago(690),
        next: "leaves fra-2",
        nextAt: ago(-240),
        outage: OUTAGE,
      }),
    ),
    ...["platform/otel-collector", "platform/image-cache"].map((name) =>
      row(name, {
        kind: "DaemonSet",
        state: "Kept",
        ready: 11,
        wanted: 12,
        where: CLUSTERS.map(([cluster]) => place(cluster, 1)),
        reason: "NothingToGain",
        message: KEPT,
      }),
    ),
    ...Array.from({ length: 24 }, (_, index) =>
      row(`shop/moved-${String(index).padStart(2, "0")}`, {
        state: "Moved",
        since: ago(10 + index * 9),
        message: "to fra-1:2, fra-3:1",
        outage: OUTAGE,
      }),
    ),
  ];
  for (let index = rows.length; index < many; index++) {
    const clusters = index % 2 ? [place("sin-1", 2), place("sin-2", 1)] : [place("iad-1", 2), place("ord-1", 1)];
    rows.push(
      row(`team-${String(index % 97).padStart(2, "0")}/app-${String(index).padStart(5, "0")}`, { where: clusters }),
    );
  }
  return Object.fromEntries(rows.map((each) => [`${each.namespace}/${each.kind}/${each.name}`, each]));
}

/** Sums of the running outage. */
export const MOVES = { applications: 34, moved: 24, moving: 3, due: 4, kept: 2, held: 1, returned: 0 };

/** @param {number} many @returns {View.FleetSummary} */
export function summary(many) {
  return {
    controlPlane: "prod-hub",
    mood: "Outage",
    headline: `8 of ${many} applications serve with fewer replicas`,
    detail:
      "fra-2 has been down for 11 min. 24 of its 34 applications run elsewhere. 1 application needs somebody. Others need nothing.",
    coming: [
      {
        at: null,
        word: "Held",
        sentence: `payments/ledger: ${NO_ROOM}`,
        about: "application/payments/Deployment/ledger",
      },
      {
        at: ago(0),
        word: "Moving",
        sentence:
          "3 applications wait for healthy replacements: media/transcode (1 of 5), ml/ranker-serving (1 of 5), search/query (1 of 5)",
        about: "",
      },
      {
        at: ago(-12),
        word: "Failing",
        sentence: "syd-1 counts as not Ready, unless it answers again",
        about: "cluster/syd-1",
      },
      { at: ago(-240), word: "Due", sentence: "4 applications leave fra-2", about: "" },
      {
        at: null,
        word: "ToCome",
        sentence: "when fra-2 returns, the old copies of 24 applications are deleted there",
        about: `outage/${OUTAGE}`,
      },
    ],
    findings: [],
    clusters: CLUSTERS.length,
    applications: many,
    replicas: 634,
    states: { Held: 1, Moving: 3, Due: 4, Kept: 2, Moved: 24, InPlace: many - 34 },
    nobody: 0,
    fewer: 8,
    unknown: 0,
    brake: {
      engaged: false,
      overruled: false,
      since: null,
      message: "",
      sentence: "1 of 12 clusters is down. It would stop evictions from 7.",
      dead: 1,
      needed: 7,
      clusters: 12,
      holds: "",
    },
    settingsTold: true,
    silentSince: null,
    silence: "",
    unseen: [],
    missing: [],
    hidden: false,
  };
}
