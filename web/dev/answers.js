/**
 * Answers of the stand-in to questions about the fleet.
 *
 * @import * as View from "../src/lib/view"
 */

import { ago, CLUSTERS, KEPT, NO_ROOM, OUTAGE, room } from "./fleet.js";
import { OVER, overStory, story } from "./outage.js";

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
        { cluster: "fra-1", assigned: 4, ready: 3, what: "1 of them starts", thereSince: ago(19 * 86_400) },
        {
          cluster: "fra-2",
          assigned: 3,
          ready: null,
          what: "last seen 11 min 30 s ago with 4 of 4 ready",
          thereSince: ago(19 * 86_400),
        },
        { cluster: "ams-1", assigned: 2, ready: 2, what: "", thereSince: ago(61) },
      ],
      why: [
        "fra-2 has the taint not-ready:NoExecute since 02:35:17.",
        "It tolerates that for 5 min, so 4 replicas were due at 02:40:17; 1 has found room.",
      ],
      policies: [
        { kind: "PropagationPolicy", name: "eu-only", namespace: "payments", priority: 10, precision: 3 },
        { kind: "PropagationPolicy", name: "default", namespace: "payments", priority: 0, precision: 1 },
      ],
      verdicts: [
        { clusters: ["fra-1", "fra-3", "ams-1"], plugin: "", reason: "" },
        { clusters: ["ams-2"], plugin: "TaintToleration", reason: "dedicated=batch:NoSchedule" },
        { clusters: ["fra-2"], plugin: "TaintToleration", reason: "not-ready:NoExecute" },
        {
          clusters: ["iad-1", "iad-2", "ord-1", "ord-2", "sin-1", "sin-2", "syd-1"],
          plugin: "ClusterAffinity",
          reason: "region in (eu)",
        },
      ],
      room: [
        {
          cluster: "fra-1",
          resource: "cpu",
          allocatable: 192,
          requested: 165.5,
          reserved: 3,
          free: 23.5,
          each: 12,
          room: 1,
          byNodes: false,
        },
        {
          cluster: "ams-1",
          resource: "cpu",
          allocatable: 160,
          requested: 142.5,
          reserved: 6,
          free: 11.5,
          each: 12,
          room: 0,
          byNodes: false,
        },
        {
          cluster: "fra-3",
          resource: "cpu",
          allocatable: 128,
          requested: 113.2,
          reserved: 4,
          free: 10.8,
          each: 12,
          room: 0,
          byNodes: false,
        },
      ],
      divisions: [
        { replicas: 4, weights: { "fra-1": 1, "fra-3": 0, "ams-1": 0 }, initial: {}, result: { "fra-1": 1 } },
      ],
      next: [],
      helps: [
        {
          change: "tolerate the taint dedicated=batch:NoSchedule in the policy",
          effect: "4 more replicas would fit in ams-2",
          command: `kubectl patch propagationpolicy web -n shop --type=merge -p '{"spec": {"placement": {"clusterTolerations": [{"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}]}}}'`,
        },
        {
          change: "0.50 cores more in fra-1",
          effect: "one more replica would fit",
          command: "leeward explain cluster/fra-1",
        },
        {
          change: "if fra-2 comes back",
          effect: "the 3 replicas there count as running immediately",
          command: "leeward explain cluster/fra-2",
        },
      ],
      decides: {},
      askedAnew: false,
      reasonsAt: null,
      settingsTold: true,
      unseen: [],
      rollout: {
        reason: "WaitingForApproval",
        message: "Stage canary serves: `leeward rollout resume` lets revision 3f2a9c01be go on.",
        target: "3f2a9c01be",
        proven: "77d01e4ac2",
        underWay: true,
        stage: "canary",
        began: ago(900),
        clusters: [
          {
            cluster: "fra-1",
            stage: "canary",
            revision: "3f2a9c01be",
            sentence: "has the new revision 3f2a9c01be, and serves with it since 02:31:17",
          },
          {
            cluster: "ams-1",
            stage: "rest",
            revision: "77d01e4ac2",
            sentence: "keeps the proven revision 77d01e4ac2: its stage comes after canary",
          },
        ],
        steps: [],
        next: "",
        nextAt: null,
        command: "leeward rollout resume deployment/ledger -n payments",
        gain: "revision 3f2a9c01be leaves stage canary",
      },
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

/** @param {string[]} fails @param {Record<string, number>} clocks @returns {View.WhatIfView} */
function whatIf(fails, clocks = {}) {
  const lost = new Set(fails);
  return {
    headline: "1 of 3 applications would be down; in total, 4 of 18 replicas would be missing",
    detail: "The brake would not stop automatic evictions: 3 of 12 clusters would be down, it stops evictions from 7.",
    command: `leeward what-if --fail ${fails.join(",")}`,
    answer: {
      controlPlane: "prod-hub",
      asOf: ago(0),
      fails,
      drained: [],
      lostBefore: ["fra-2"],
      applications: [
        {
          workload: "Deployment shop/promo",
          binding: "shop/promo-deployment",
          fate: "NoRoom",
          before: { "iad-1": 4 },
          after: {},
          replicas: 4,
          missing: 4,
          leftAt: ago(-390),
          reason: "NoPlaceToGo",
          message: "its policy allows region us only; ord-1 is full and ord-2 is cordoned",
          coresMissing: 4,
          serves: 0,
          waiting: {},
          bySum: 0,
          gates: [],
          rollout: [],
          group: [],
        },
        {
          workload: "Deployment ads/bidder",
          binding: "ads/bidder-deployment",
          fate: "Moves",
          before: { "iad-1": 2 },
          after: { "ord-1": 2 },
          replicas: 2,
          missing: 0,
          leftAt: ago(-390),
          reason: "",
          message: "",
          coresMissing: null,
          serves: 2,
          waiting: {},
          bySum: 0,
          gates: ["the replacement in ord-1 does not start until its gate on VolumeReplicationGroup ads/bidder holds"],
          rollout: [],
          group: [],
        },
        {
          workload: "Deployment platform/otel-collector",
          binding: "platform/otel-collector-daemonset",
          fate: "Kept",
          before: { "iad-1": 1 },
          after: { "iad-1": 1 },
          replicas: 12,
          missing: 0,
          leftAt: null,
          reason: "NothingToGain",
          message: KEPT,
          coresMissing: null,
          serves: 11,
          waiting: {},
          bySum: 0,
          gates: [],
          rollout: [],
          group: [],
        },
      ],
      clusters: CLUSTERS.map(([cluster, , , , allocatable, requested, reserved, replicas]) => ({
        cluster,
        change: lost.has(cluster) ? "lost" : "",
        replicasBefore: replicas,
        replicasAfter: lost.has(cluster) ? 0 : cluster === "ord-1" ? replicas + 62 : replicas,
        coresFreeBefore: allocatable - requested - reserved,
        coresFreeAfter: lost.has(cluster) ? null : cluster === "ord-1" ? 0.4 : allocatable - requested - reserved,
        waiting: 0,
        room: lost.has(cluster)
          ? []
          : room(allocatable, cluster === "ord-1" ? allocatable - 0.4 : requested, reserved, replicas),
      })),
      instants: [
        {
          at: ago(-30),
          afterSeconds: 30,
          kind: "NotReady",
          sentence: `${fails.join(" and ")} are not Ready; no new replica is placed there`,
        },
        {
          at: ago(-330),
          afterSeconds: 330,
          kind: "NoExecute",
          sentence: `${fails.join(" and ")} are tainted with NoExecute`,
        },
        { at: ago(-390), afterSeconds: 390, kind: "Leaves", sentence: "3 applications leave" },
      ],
      losses: {
        kinds: { Deployment: 24, Service: 9, ConfigMap: 31 },
        customResources: [],
        addresses: ["203.0.113.20 (ads/creatives)"],
        definitions: [],
        claims: ["data/ledger-0"],
      },
      braked: false,
      cutOff: false,
      settingsTold: true,
      missingDependencies: [],
      heldIfSilent: false,
      byGrade: [],
      helps: [{ change: "uncordon ord-2", effect: "it would fit", command: "leeward uncordon ord-2" }],
      clocks,
      unseen: [],
    },
  };
}

/** A loss that leaves one cluster asked for more memory than it has. @returns {View.WhatIfView} */
function overfull() {
  const told = whatIf(["m5"]);
  const [promo] = told.answer.applications;
  if (!promo) throw new Error("no application");
  const heavy = {
    ...promo,
    workload: "Deployment default/heavy",
    binding: "default/heavy-deployment",
    before: { m4: 16, m5: 16 },
    after: { m4: 32 },
    replicas: 32,
    missing: 12,
    serves: 20,
    waiting: { m4: 12 },
    bySum: 0,
    gates: [],
    rollout: [],
    group: [],
    reason: "",
    message: "12 wait for a node in m4",
  };
  const [first, ...others] = room(32, 24, 0, 16);
  if (!first) throw new Error("no room");
  const memory = { ...first, resource: /** @type {const} */ ("memory"), allocatable: 2 ** 37, requested: 2 ** 36 };
  const short = { ...memory, reserved: 2 ** 37, free: -(2 ** 36) };
  const fate = {
    change: "+16",
    coresFreeBefore: 8,
    coresFreeAfter: 2,
    replicasBefore: 16,
    replicasAfter: 32,
    waiting: 12,
  };
  return {
    ...told,
    headline: "1 application is affected: it would serve with 20 of 32 replicas, and 12 would wait for a node",
    detail: "the brake would not stop automatic evictions",
    answer: {
      ...told.answer,
      lostBefore: [],
      applications: [heavy],
      byGrade: [],
      helps: [],
      clusters: [
        { ...fate, cluster: "m5", change: "fails", replicasAfter: 0, coresFreeAfter: null, waiting: 0, room: [] },
        { ...fate, cluster: "m4", room: [short, ...others.filter((each) => each.resource !== "memory")] },
      ],
    },
  };
}

/** What a release of the brake would do. @returns {View.WhatIfView} */
function released() {
  const told = whatIf([]);
  return {
    ...told,
    headline: "3 of 22 applications would be down; in total, 7 of 96 replicas would be missing",
    detail: "",
    command: "leeward brake release",
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
    fullest:
      loss === "fra-2"
        ? null
        : loss === "ord-1"
          ? { cluster: "ord-2", share: 1.5, tight: true, resource: /** @type {const} */ ("memory") }
          : {
              cluster: index % 2 ? "ams-1" : "sin-1",
              share: 1 - index / 20,
              tight: index === 0,
              resource: /** @type {const} */ ("cpu"),
            },
    nobody: loss === "fra-1" ? 4 : 0,
    waiting: 0,
    bySum: 0,
    gates: [],
    rollout: [],
    group: [],
  }));
  return {
    controlPlane: "prod-hub",
    asOf: ago(0),
    by: "cluster",
    losses,
    withoutSecondPlace: ["payments/ledger"],
    unseen: [],
  };
}

/** @type {View.LintReport} */
const LINT = {
  asked: "prod-hub",
  objects: 139,
  findings: [
    {
      rule: "L012",
      name: "missing-dependency",
      level: "warning",
      about: "ConfigMap payments/ledger-limits",
      sentence: "is selected by no policy: Pods elsewhere would wait for it",
      mend: "select it, or set propagateDeps",
      file: "",
      line: 0,
      field: "",
    },
    {
      rule: "LW006",
      name: "one-cluster",
      level: "error",
      about: "PropagationPolicy payments/everywhere",
      sentence: "it names one cluster, so that nothing of it can move",
      mend: "name a second cluster",
      file: "",
      line: 0,
      field: "",
    },
  ],
  ignored: 0,
  unasked: [],
  unseen: [],
};

/** @type {View.ShownManifests} */
const MANIFESTS = {
  manifests: [
    {
      part: "Template",
      title: "Deployment payments/ledger",
      yaml: `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ledger\n  annotations:\n    note: <img src=x onerror="document.title='owned'">\n`,
      problem: "",
    },
    { part: "Policy", title: "PropagationPolicy payments/eu-only", yaml: "kind: PropagationPolicy\n", problem: "" },
    {
      part: "Binding",
      title: "ResourceBinding payments/ledger-deployment",
      yaml: "kind: ResourceBinding\n",
      problem: "",
    },
    {
      part: "Work in fra-1",
      title: "Work karmada-es-fra-1/ledger-5c8f",
      yaml: "",
      problem: "operator may not get works",
    },
  ],
};

/** @type {View.MarkdownReport} */
const REPORT = { markdown: "# Outages of prod-hub\n" };

/** @param {string} path @param {URLSearchParams} query @returns {unknown} */
export function answerTo(path, query) {
  if (path.endsWith(`/api/outages/${OUTAGE}`)) return story();
  if (path.endsWith(`/api/outages/${OVER}`)) return overStory();
  if (path.endsWith("/report")) return REPORT;
  if (path.startsWith("/api/applications/")) return path.endsWith("/payments/Deployment/ledger") ? detail() : null;
  if (path === "/api/what-if" && query.has("release")) return released();
  if (path === "/api/what-if" && query.getAll("fail").includes("m5")) return overfull();
  if (path === "/api/what-if") return whatIf(query.getAll("fail"), clocksIn(query));
  if (path === "/api/resilience") return resilience();
  if (path === "/api/lint") return LINT;
  if (path.startsWith("/api/manifests/")) return MANIFESTS;
  if (path === "/api/labelled") return { keys: ["payments/Deployment/ledger"], problems: ["Job: may not list jobs"] };
  return null;
}

/** @param {URLSearchParams} query @returns {Record<string, number>} */
function clocksIn(query) {
  const flags = ["cluster-failure-threshold", "failover-eviction-timeout"].filter((flag) => query.has(flag));
  return Object.fromEntries(flags.map((flag) => [`--${flag}`, Number(query.get(flag))]));
}

/** @param {string} name @param {boolean} dryRun @returns {View.ActionResult} */
export function acted(name, dryRun) {
  return {
    sentence: dryRun ? `${name} would be done.` : `${name} is done.`,
    done: !dryRun,
    whatIf: dryRun ? whatIf(["iad-1"]) : null,
  };
}
