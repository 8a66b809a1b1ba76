/**
 * Its outage: the row, and the story.
 *
 * @import * as View from "../src/lib/view"
 */

import { ago, KEPT, MOVES, NO_ROOM, OUTAGE } from "./fleet.js";

/** @returns {View.OutageRow} */
export function outageRow() {
  return {
    name: OUTAGE,
    cluster: "fra-2",
    phase: "Running",
    running: true,
    since: ago(690),
    returnedAt: null,
    cleanedAt: null,
    headline:
      "fra-2 failed 11 min 30 s ago and is not back: 24 of 34 applications moved, 3 are moving, 4 have not moved yet, 2 stay on purpose, 1 cannot move",
    tally: "24 of 34 applications moved, 3 are moving, 4 have not moved yet, 2 stay on purpose, 1 cannot move",
    recovery: "median 10 min 50 s, worst 11 min 22 s",
    ...MOVES,
    medianSeconds: 650,
    worstSeconds: 682,
  };
}

/** @returns {View.OutageStory} */
export function story() {
  /** @param {View.OutageApplication} each */
  const of = (each) => each;
  const moved = Array.from({ length: 24 }, (_, index) =>
    of({
      kind: "Deployment",
      namespace: "shop",
      name: `moved-${String(index).padStart(2, "0")}`,
      state: "Moved",
      replicas: 3,
      to: { "fra-1": 2, "fra-3": 1 },
      toleratedSeconds: index < 9 ? 60 : 300,
      leftAt: ago(index < 9 ? 300 : 60),
      healthyAt: ago(index < 9 ? 264 + index : 8 + index),
      recoverySeconds: index < 9 ? 420 - index : 682 - index,
    }),
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
      {
        at: ago(690),
        afterSeconds: 0,
        tone: "Bad",
        sentence: "first failed probe: dial tcp 10.20.1.4:6443: connection refused",
      },
      { at: ago(660), afterSeconds: 30, tone: "Bad", sentence: "fra-2 has not-ready; no new replica is placed there" },
      { at: ago(360), afterSeconds: 330, tone: "Bad", sentence: "not-ready:NoExecute" },
      {
        at: ago(300),
        afterSeconds: 390,
        tone: "Leaves",
        sentence: "9 applications leave for fra-1 and fra-3 and ams-1, after a toleration of 1 min",
      },
      { at: ago(264), afterSeconds: 426, tone: "Good", sentence: "all 9 applications are healthy" },
      {
        at: ago(60),
        afterSeconds: 630,
        tone: "Leaves",
        sentence: "19 applications leave for fra-1 and fra-3 and ams-1, after a toleration of 5 min",
      },
      { at: ago(60), afterSeconds: 630, tone: "NeedsSomebody", sentence: "payments/ledger is held: NoPlaceToGo" },
      { at: ago(8), afterSeconds: 682, tone: "Good", sentence: "15 of 19 applications are healthy" },
      { at: ago(0), afterSeconds: 690, tone: "Plain", sentence: "now" },
      { at: ago(-240), afterSeconds: 930, tone: "ToCome", sentence: "4 applications leave" },
      {
        at: null,
        afterSeconds: null,
        tone: "ToCome",
        sentence: "when fra-2 returns, the old copies of 24 applications are deleted there",
      },
    ],
    applications: [
      of({
        kind: "Deployment",
        namespace: "payments",
        name: "ledger",
        state: "Held",
        replicas: 4,
        to: { "fra-1": 1 },
        reason: "NoPlaceToGo",
        message: NO_ROOM,
        toleratedSeconds: 300,
      }),
      ...["media/transcode", "ml/ranker-serving", "search/query"].map((name) => {
        const [namespace = "", own = ""] = name.split("/");
        return of({
          kind: "Deployment",
          namespace,
          name: own,
          state: "Moving",
          replicas: 4,
          to: { "fra-1": 2, "ams-1": 2 },
          leftAt: ago(60),
          toleratedSeconds: 300,
          message: "1 of 4 ready",
        });
      }),
      ...["analytics/exports", "analytics/rollup", "bi/reports", "data/etl-orders"].map((name) => {
        const [namespace = "", own = ""] = name.split("/");
        return of({
          kind: "Deployment",
          namespace,
          name: own,
          state: "Due",
          replicas: 3,
          dueAt: ago(-240),
          toleratedSeconds: 600,
        });
      }),
      ...["otel-collector", "image-cache"].map((name) =>
        of({
          kind: "DaemonSet",
          namespace: "platform",
          name,
          state: "Kept",
          replicas: 1,
          reason: "NothingToGain",
          message: KEPT,
        }),
      ),
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

export const OVER = "ord-1-20261121-164402";

/** An outage that is over. @returns {View.OutageStory} */
export function overStory() {
  const told = story();
  return {
    ...told,
    name: OVER,
    cluster: "ord-1",
    running: false,
    applications: told.applications.filter((each) => each.state === "Moved"),
    status: { ...told.status, phase: "Over", lasted: "19 min 8 s", returnedAt: ago(0), cleanedAt: ago(0) },
  };
}
