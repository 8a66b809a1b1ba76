/** One question whose answer is shown: asked again when it is another one or its cause changes; the last answer stays. */

import { ask, Refused } from "./asking";

const LOADING_MS = 300;

export class Question<Answer> {
  answer = $state.raw<Answer | null>(null);
  problem = $state<Refused | null>(null);
  /** Since 300 ms, and nothing is shown yet. */
  isSlow = $state(false);
  isAsking = $state(false);
  #path = "";
  #abort: AbortController | null = null;

  /** Empty asks nothing. An answer to another question is not kept. */
  async ask(path: string): Promise<void> {
    this.#abort?.abort();
    if (path !== this.#path) this.answer = this.problem = null;
    this.#path = path;
    this.isSlow = this.isAsking = false;
    if (!path) return;
    const abort = new AbortController();
    this.#abort = abort;
    this.isAsking = true;
    const slow = setTimeout(() => (this.isSlow = this.answer === null), LOADING_MS);
    try {
      const answer = await ask<Answer>(path, { signal: abort.signal });
      if (this.#abort !== abort) return;
      this.answer = answer;
      this.problem = null;
    } catch (error) {
      if (this.#abort !== abort) return;
      this.problem = error instanceof Refused ? error : new Refused(0, String(error));
      if (this.problem.status !== 0) this.answer = null;
    } finally {
      clearTimeout(slow);
      if (this.#abort === abort) this.isSlow = this.isAsking = false;
    }
  }

  stop(): void {
    this.#abort?.abort();
    this.#abort = null;
  }
}
