/** Now, by the server's clock, once a second; it stands still while the page is not live. */

import { instant } from "./times";

const SECOND = 1000;
/** A difference below this is the time that an answer took. */
const SAME_CLOCK_SECONDS = 3;

class PageClock {
  now = $state(Date.now());
  #ahead = 0;
  #pausedAt: number | null = null;

  constructor() {
    setInterval(() => this.#tick(), SECOND);
  }

  serverNow(): number {
    return Date.now() + this.#ahead;
  }

  /** By the header `Date` of an answer. */
  follow(date: string | null): void {
    const at = instant(date);
    if (at === null) return;
    const ahead = at - Date.now();
    this.#ahead = Math.abs(ahead) < SAME_CLOCK_SECONDS * SECOND ? 0 : ahead;
    this.#tick();
  }

  pause(at: number): void {
    this.#pausedAt = at || null;
    this.#tick();
  }

  resume(): void {
    if (this.#pausedAt === null) return;
    this.#pausedAt = null;
    this.#tick();
  }

  #tick(): void {
    this.now = this.#pausedAt ?? this.serverNow();
  }
}

export const clock = new PageClock();
