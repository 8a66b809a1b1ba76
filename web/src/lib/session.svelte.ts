/** Who has signed in, as the server told it. */

import { ask, Refused, signIn, signOut } from "./asking";
import { live } from "./live.svelte";
import { forget, keep, takeLinkKey } from "./secret";
import type { SessionView } from "./view";

class PageSession {
  view = $state.raw<SessionView | null>(null);
  problem = $state("");
  /** The dashboard’s server has answered: it is the control plane that has not. */
  isBeyond = $state(false);
  /** Why the link that was opened signs nobody in. */
  refusal = $state("");
  #linkKey = takeLinkKey();

  constructor() {
    addEventListener("hashchange", () => {
      this.#linkKey = takeLinkKey();
      if (this.#linkKey) void this.look();
    });
  }

  get isSignedIn(): boolean {
    return this.view?.signedIn ?? false;
  }

  async look(): Promise<void> {
    try {
      this.#take(await (this.#linkKey ? this.#byLink() : ask<SessionView>("/api/session")));
    } catch (error) {
      this.problem = sentenceOf(error);
      this.isBeyond = error instanceof Refused && error.status !== 0;
    }
  }

  /** Throws: Refused. */
  async begin(token: string): Promise<void> {
    this.#take(await signIn({ token }));
  }

  /** A link that is used, or of elsewhere, leaves whoever has signed in as they are. Throws: Refused. */
  async #byLink(): Promise<SessionView> {
    try {
      const view = await signIn({ key: this.#linkKey });
      this.#linkKey = "";
      return view;
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 401) throw error;
      this.#linkKey = "";
      const view = await ask<SessionView>("/api/session");
      this.refusal = view.signedIn ? "" : error.message;
      return view;
    }
  }

  async end(): Promise<void> {
    try {
      await signOut();
    } finally {
      forget();
      live.stop();
      await this.look();
    }
  }

  #take(view: SessionView): void {
    const was = this.isSignedIn && !view.session;
    if (view.session) {
      keep(view.session);
      live.stop();
    } else if (!view.signedIn) {
      forget();
    }
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
