/** Who has signed in, as the server told it. */

import { ask, Refused, signIn, signOut } from "./asking";
import { live } from "./live.svelte";
import type { SessionView } from "./view";

class PageSession {
  view = $state.raw<SessionView | null>(null);
  problem = $state("");
  /** The dashboard’s server has answered: it is the control plane that has not. */
  isBeyond = $state(false);

  get isSignedIn(): boolean {
    return this.view?.signedIn ?? false;
  }

  async look(): Promise<void> {
    try {
      this.#take(await ask<SessionView>("/api/session"));
    } catch (error) {
      this.problem = sentenceOf(error);
      this.isBeyond = error instanceof Refused && error.status !== 0;
    }
  }

  /** Throws: Refused. */
  async begin(token: string): Promise<void> {
    this.#take(await signIn(token));
  }

  async end(): Promise<void> {
    const csrf = this.view?.csrf ?? "";
    try {
      await signOut(csrf);
    } finally {
      live.stop();
      await this.look();
    }
  }

  #take(view: SessionView): void {
    const was = this.isSignedIn;
    this.view = view;
    this.problem = "";
    if (view.signedIn && !was) live.start(() => void this.#signedOut());
  }

  async #signedOut(): Promise<void> {
    live.stop();
    this.view = null;
    await this.look();
  }
}

export function sentenceOf(error: unknown): string {
  return error instanceof Refused || error instanceof Error ? error.message : String(error);
}

export const session = new PageSession();
