/** Sums over one outage: how long each part of a recovery took, and which clusters took what left. */

import { instant } from "./times";
import type { OutageApplication, OutageStory } from "./view";

export interface Part {
  name: string;
  /** The flag or field that makes it as long as it is. */
  by: string;
  seconds: number;
  /** A clock that somebody has set; the rest is work. */
  isClock: boolean;
}

export interface Taken {
  cluster: string;
  applications: number;
  replicas: number;
}

/** So much later than its toleration ends does an application leave by itself; instants are whole seconds. */
const SLACK_SECONDS = 2;

/** The parts of the recovery of the application that stands in the middle of those that have moved, whose instants are
 * all known and in order; null where there is none. */
export function partsOf(story: OutageStory): { parts: Part[]; application: OutageApplication } | null {
  const began = instant(story.status.failedAt ?? story.spec.since);
  const notReady = instant(story.status.notReadyAt);
  const noExecute = instant(story.status.noExecuteAt);
  if (began === null || notReady === null || noExecute === null) return null;
  const moved = story.applications
    .filter((each) => each.state === "Moved")
    .flatMap((application) => {
      const left = instant(application.leftAt);
      const healthy = instant(application.healthyAt);
      if (left === null || healthy === null) return [];
      const instants = [began, notReady, noExecute, left, healthy];
      return instants.every((each, index) => index === 0 || each >= (instants[index - 1] ?? 0))
        ? [{ application, left, healthy }]
        : [];
    })
    .sort((a, b) => a.healthy - b.healthy);
  const middle = moved[Math.floor((moved.length - 1) / 2)];
  if (!middle) return null;
  const lasting = (from: number, to: number) => Math.round((to - from) / 1000);
  const stayed = lasting(noExecute, middle.left);
  const tolerated = Math.min(stayed, middle.application.toleratedSeconds ?? stayed);
  const late = stayed - tolerated > SLACK_SECONDS ? stayed - tolerated : 0;
  return {
    application: middle.application,
    parts: [
      { name: "found out", by: "--cluster-failure-threshold", seconds: lasting(began, notReady), isClock: true },
      {
        name: "waited for its return",
        by: "--failover-eviction-timeout",
        seconds: lasting(notReady, noExecute),
        isClock: true,
      },
      { name: "tolerated", by: "toleration of the policy", seconds: stayed - late, isClock: true },
      ...(late > 0
        ? [{ name: "waited to leave", by: "its turn, the brake, or what held it", seconds: late, isClock: false }]
        : []),
      {
        name: "moved",
        by: "placed, started, seen healthy",
        seconds: lasting(middle.left, middle.healthy),
        isClock: false,
      },
    ],
  };
}

/** Flags of the control plane that made it wait, each half as long. */
export function halvedClocks(parts: readonly Part[]): Record<string, number> {
  const flags = parts.filter((part) => part.by.startsWith("--") && part.seconds > 1);
  return Object.fromEntries(flags.map((part) => [part.by, Math.round(part.seconds / 2)]));
}

/** Of the applications that are named; who took most comes first. */
export function takenBy(applications: readonly OutageApplication[]): Taken[] {
  const found = new Map<string, Taken>();
  for (const each of applications) {
    if (each.state !== "Moved" && each.state !== "Moving") continue;
    for (const [cluster, replicas] of Object.entries(each.to ?? {})) {
      const taken = found.get(cluster) ?? { cluster, applications: 0, replicas: 0 };
      found.set(cluster, { cluster, applications: taken.applications + 1, replicas: taken.replicas + replicas });
    }
  }
  return [...found.values()].sort((a, b) => b.replicas - a.replicas || a.cluster.localeCompare(b.cluster));
}
