/** Questions to the server, and what an operator does: JSON, with a deadline. */

import { failureOf } from "./live.svelte";
import type { ActionName, ActionRequest, ActionResult, SessionView } from "./view";

const DEADLINE_MS = 60_000;
const CSRF_HEADER = "X-CSRF-Token";

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
    response = await fetch(path, { ...init, signal: AbortSignal.any(signals) });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Refused(0, "the dashboard’s server does not answer");
  }
  if (!response.ok) throw new Refused(response.status, await failureOf(response));
  return (await response.json()) as Answer;
}

export function signIn(token: string): Promise<SessionView> {
  return ask("/api/session", changing("POST", { token }));
}

export function signOut(csrf: string): Promise<SessionView> {
  return ask("/api/session", changing("DELETE", {}, csrf));
}

/** `dryRun`: what it would do, and nothing is done. */
export function act(name: ActionName, request: ActionRequest, csrf: string, dryRun: boolean): Promise<ActionResult> {
  return ask(`/api/actions/${name}${dryRun ? "?dry-run" : ""}`, changing("POST", request, csrf));
}

function changing(method: string, body: unknown, csrf = ""): RequestInit {
  return { method, body: JSON.stringify(body), headers: { "Content-Type": "application/json", [CSRF_HEADER]: csrf } };
}
