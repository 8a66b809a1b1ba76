/** Questions to the server, and what an operator does: JSON, with a deadline. */

import { failureOf } from "./live.svelte";
import { sessionHeaders } from "./secret";
import type { ActionName, ActionRequest, ActionResult, SessionView } from "./view";

const DEADLINE_MS = 60_000;

/** An answer that is not 2xx: `status`, and the server's sentence. 0: there was none. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    sentence: string,
  ) {
    super(sentence);
  }
}

/** Throws: Refused. */
export async function ask<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  let response: Response;
  try {
    const signals = [AbortSignal.timeout(DEADLINE_MS), ...(init.signal ? [init.signal] : [])];
    const headers = { ...sessionHeaders(), ...(init.body ? { "Content-Type": "application/json" } : {}) };
    response = await fetch(path, { ...init, headers, signal: AbortSignal.any(signals) });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Refused(0, "the dashboard’s server does not answer");
  }
  if (!response.ok) throw new Refused(response.status, await failureOf(response));
  return (await response.json()) as Answer;
}

/** `given` is a token of the control plane, or the key of the dashboard’s link. */
export function signIn(given: { token: string } | { key: string }): Promise<SessionView> {
  return ask("/api/session", changing("POST", given));
}

export function signOut(): Promise<SessionView> {
  return ask("/api/session", changing("DELETE", {}));
}

/** `dryRun`: what it would do, and nothing is done. */
export function act(name: ActionName, request: ActionRequest, dryRun: boolean): Promise<ActionResult> {
  return ask(`/api/actions/${name}${dryRun ? "?dry-run" : ""}`, changing("POST", request));
}

function changing(method: string, body: unknown): RequestInit {
  return { method, body: JSON.stringify(body) };
}
