/**
 * Scenes: the fleet in its states, calm and braked, empty, large and hostile; and who is signed in.
 *
 * @import * as View from "../src/lib/view"
 */

import { ago, applications, clusters, DAY, OUTAGE, room, row, summary } from "./fleet.js";
import { outageRow } from "./outage.js";

/** @type {Record<string, View.PolicyRow>} */
const POLICIES = Object.fromEntries(
  ["eu-only", "default", "everywhere"].map((name, index) => [
    `payments/PropagationPolicy/${name}`,
    {
      kind: "PropagationPolicy",
      namespace: "payments",
      name,
      priority: 10 - index * 5,
      preemption: index === 0,
      suspended: false,
      selects: ["Deployment of any name by labels"],
      claims: 12 - index * 4,
      goes: ["region in (eu)", "any cluster", "fra-1"][index] ?? "",
      tolerates: ["5 min", "not-ready 1 min, unreachable for ever", "not at all"][index] ?? "",
    },
  ]),
);

/** @type {View.SessionView} */
export const SIGNED_IN = {
  signedIn: true,
  controlPlane: "prod-hub",
  byLink: true,
  user: "operator",
  session: "",
  actionsAllowed: true,
  actions: {
    cordon: "",
    uncordon: "",
    drain: "",
    undo: "",
    "brake-release": "operator may not patch configmaps",
    rebalance: "",
  },
  missing: [],
};
/** @type {View.SessionView} */
export const LONG_USER = {
  ...SIGNED_IN,
  user: "system:serviceaccount:a-namespace-with-a-long-name:an-account-with-a-long-name",
  controlPlane: "https://a-control-plane-with-a-long-name.of-a-long-domain.example:6443",
};
/** @type {View.SessionView} */
export const SIGNED_OUT = { ...SIGNED_IN, signedIn: false, user: "", session: "", actions: {}, actionsAllowed: false };

/** @param {string} scene @param {number} many @returns {View.Reset} */
export function reset(scene, many) {
  const fleet = summary(many);
  const collections = {
    clusters: clusters(),
    applications: applications(many),
    outages: { [OUTAGE]: outageRow() },
    policies: POLICIES,
  };
  return {
    id: "fixture-1",
    at: ago(0),
    more: false,
    collections: { ...collections, ...scenes[scene]?.(fleet), fleet: { fleet: { ...fleet, ...moods[scene] } } },
  };
}

/** Rows under the brake: as many and as long as there may be. @type {View.ComingLine[]} */
const BRAKED = [
  {
    at: null,
    word: "Held",
    sentence: "pay/auth, pay/fraud and 20 more: the brake holds the eviction until it is released",
    about: "",
  },
  {
    at: null,
    word: "NotPlaced",
    sentence:
      "ml/infer and web/badref: 0/12 clusters are available: 5 cluster(s) did not match the placement cluster affinity constraint, 7 cluster(s) had untolerated taint {cluster.karmada.io/not-ready:NoSchedule}.",
    about: "",
  },
  {
    at: null,
    word: "NotPlaced",
    sentence: "web/singlespread: fewer groups than its spread constraint asks for: 2 of 3 regions",
    about: "application/web/Deployment/singlespread",
  },
  { at: null, word: "Hindered", sentence: "4 more applications, for other reasons", about: "" },
  {
    at: ago(-240),
    word: "ToCome",
    sentence:
      "3 more steps are to come: when fra-2 returns, the old copies of 13 applications are deleted there; ord-1: not-ready:NoExecute",
    about: "outages",
  },
];

/** @type {Record<string, Partial<View.FleetSummary>>} */
const moods = {
  calm: {
    mood: "Well",
    headline: "All 12 clusters are ready",
    detail: "139 applications, 634 replicas, all in place.",
    coming: [],
    nobody: 0,
    fewer: 0,
    unknown: 0,
    brake: {
      engaged: false,
      overruled: false,
      since: null,
      message: "",
      sentence: "No cluster is down. It would stop evictions from 7.",
      dead: 0,
      needed: 7,
      clusters: 12,
      holds: "",
    },
  },
  brake: {
    mood: "Braked",
    nobody: 12,
    fewer: 8,
    unknown: 0,
    headline: "12 of 139 applications are down, 8 serve with fewer replicas",
    detail:
      "7 of 12 clusters seem to be down: the brake stops evictions. Nothing is moved or deleted while the brake is engaged.",
    states: { Held: 22, NotPlaced: 3, Kept: 2, InPlace: 112 },
    coming: BRAKED,
    brake: {
      engaged: true,
      overruled: false,
      since: ago(135),
      message: "7 of 12 clusters seem to be down: the control plane may be cut off. No automatic eviction starts.",
      sentence: "7 of 12 clusters are down. It stops all automatic evictions.",
      dead: 7,
      needed: 7,
      clusters: 12,
      holds: "22 applications: pay/auth, pay/fraud and 20 more",
    },
  },
  overfull: {
    mood: "NeedsSomebody",
    headline: "1 of 29 applications serves with fewer replicas",
    detail: "default/heavy: 12 of its 32 replicas wait for a node in m4.",
    coming: [
      {
        at: null,
        word: "Hindered",
        sentence: "default/heavy: 12 of its 32 replicas wait for a node in m4",
        about: "application/default/Deployment/heavy",
      },
    ],
    clusters: 5,
    applications: 29,
    states: { Hindered: 1, InPlace: 28 },
    nobody: 0,
    fewer: 1,
    unknown: 0,
  },
  empty: {
    mood: "Empty",
    headline: "No cluster has joined",
    detail: "`leeward join NAME` joins one",
    coming: [],
    nobody: 0,
    fewer: 0,
    unknown: 0,
    brake: null,
  },
  norights: {
    mood: "Hidden",
    headline: "You have no right to see the clusters",
    detail: "34 applications may be seen.",
    coming: [],
    nobody: 0,
    fewer: 0,
    unknown: 0,
    brake: null,
    hidden: true,
    missing: ["may not list clusters.cluster.karmada.io"],
  },
  silent: { silentSince: ago(40), silence: "https://hub.prod.internal:6443 does not answer." },
};

/** @type {Record<string, (fleet: View.FleetSummary) => Partial<View.Collections>>} */
const scenes = {
  calm: () => ({
    clusters: Object.fromEntries(
      Object.entries(clusters()).map(([name, tile]) => [
        name,
        { ...tile, state: /** @type {const} */ ("Ready"), note: "", next: [], unseenSince: null, since: ago(20 * DAY) },
      ]),
    ),
    outages: {},
  }),
  brake: () => ({
    clusters: Object.fromEntries(
      Object.entries(clusters()).map(([name, tile], index) => [
        name,
        index % 2 === 0 || name === "fra-2"
          ? {
              ...tile,
              state: /** @type {const} */ ("Not ready"),
              note: "Cluster is not reachable",
              next: [],
              unseenSince: ago(150),
              since: ago(140),
            }
          : tile,
      ]),
    ),
    applications: Object.fromEntries(
      Object.entries(applications(139)).map(([key, each], index) => [
        key,
        index < 22
          ? {
              ...each,
              state: /** @type {const} */ ("Held"),
              serving: index < 12 ? /** @type {const} */ ("Nobody") : /** @type {const} */ ("Fewer"),
              ready: index < 12 ? 0 : 1,
              since: ago(135),
              next: "waits until the clusters are back, or until `leeward brake release`",
              nextAt: null,
              reason: "BrakeEngaged",
              message: "not evicted from fra-2, because the brake is engaged",
            }
          : each,
      ]),
    ),
  }),
  overfull: () => ({
    outages: {},
    clusters: Object.fromEntries(
      ["m4", "m5", "member1", "member2", "member3"].map((name, index) => {
        const [base] = Object.values(clusters());
        return [
          name,
          {
            .../** @type {View.ClusterTile} */ (base),
            name,
            region: "",
            zone: "",
            provider: "",
            room: room(32, index === 0 ? 48 : 4 + index * 5, 0, 16),
            replicas: 16,
            applications: 6,
          },
        ];
      }),
    ),
    applications: {
      "default/Deployment/heavy": row("default/heavy", {
        state: "Hindered",
        serving: "Fewer",
        ready: 20,
        wanted: 32,
        where: [{ cluster: "m4", replicas: 32, ready: 20, seen: true, leaving: false }],
        message: "12 of its 32 replicas wait for a node in m4",
      }),
    },
  }),
  empty: () => ({ clusters: {}, applications: {}, outages: {}, policies: {} }),
  norights: () => ({ clusters: {}, outages: {} }),
  many: () => ({
    clusters: Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => {
        const [base] = Object.values(clusters());
        const name = `c-${String(index).padStart(3, "0")}`;
        return [
          name,
          {
            .../** @type {View.ClusterTile} */ (base),
            name,
            state: index === 7 ? /** @type {const} */ ("Not ready") : /** @type {const} */ ("Ready"),
          },
        ];
      }),
    ),
  }),
  long: () => {
    const name = "a-cluster-whose-name-has-as-many-letters-as-a-label-may-have-63";
    const word = "w".repeat(63);
    const key = `${word}/Deployment/${word.repeat(3)}`;
    const where = [{ cluster: name, replicas: 3, ready: 3, seen: true, leaving: false }];
    const tile = {
      .../** @type {View.ClusterTile} */ (clusters()["fra-2"]),
      name,
      note: word.repeat(3),
      region: word,
      zone: word,
      taints: [`${word}=${word}:NoExecute`],
    };
    return {
      clusters: { ...clusters(), [name]: tile },
      applications: {
        [key]: row(`${word}/${word.repeat(3)}`, { state: "Held", message: word.repeat(4), next: word, where }),
      },
      outages: { [OUTAGE]: { ...outageRow(), cluster: name, headline: `${name} failed 11 min ago and is not back` } },
      policies: {
        [word]: { .../** @type {View.PolicyRow} */ (POLICIES["payments/PropagationPolicy/eu-only"]), name: word },
      },
    };
  },
  hostile: () => {
    const name = `<img src=x onerror="document.title='owned'">`;
    const bad = row(`team/${name}`, {
      state: "Held",
      message: `<script>document.title='owned'</script>${name}`,
      next: name,
    });
    const tile = {
      .../** @type {View.ClusterTile} */ (clusters()["fra-2"]),
      name,
      note: name,
      region: name,
      zone: name,
    };
    return { clusters: { [name]: tile }, applications: { [`team/Deployment/${name}`]: bad } };
  },
};
