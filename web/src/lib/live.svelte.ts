/** The stream of one page: follows `/api/events`, notices when nothing comes, and begins again by itself. */

import { clock } from "./clock.svelte";
import { afterReset, nothingTold, withChange, type Told } from "./fleet";
import { sessionHeaders } from "./secret";
import { EventParser, type SentEvent } from "./sse";
import type { Change, Failure, Reset } from "./view";

const SILENT_SECONDS = 10;
/** The server says something every three seconds, if only that it is still here. */
const FIRST_RETRY_SECONDS = 1;
const LONGEST_RETRY_SECONDS = 10;
const SECOND = 1000;

export type Line = "opening" | "live" | "broken";

class Live {
  told = $state.raw<Told>(nothingTold());
  line = $state<Line>("opening");
  problem = $state("");
  /** Milliseconds, by the server's clock. */
  heardAt = $state(0);
  nextTryAt = $state(0);
  /** The head of the fleet is known, and its clusters: enough for the first view. */
  isTold = $state(false);
  /** All of it is. */
  isWhole = $state(false);

  #id = "";
  #partial: Told | null = null;
  #abort: AbortController | null = null;
  #retrySeconds = FIRST_RETRY_SECONDS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #onSignedOut: () => void = () => {};

  get summary() {
    return this.told.fleet.get("fleet") ?? null;
  }

  start(onSignedOut: () => void): void {
    this.#onSignedOut = onSignedOut;
    void this.#follow();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    this.#abort = null;
    this.#id = "";
    this.told = nothingTold();
    this.isTold = this.isWhole = false;
    this.line = "opening";
  }

  tryNow(): void {
    clearTimeout(this.#timer);
    void this.#follow();
  }

  async #follow(): Promise<void> {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    try {
      const asked = { headers: sessionHeaders(), signal: abort.signal };
      const response = await fetch(`/api/events?since=${encodeURIComponent(this.#id)}`, asked);
      if (response.status === 401) return this.#onSignedOut();
      if (!response.ok || !response.body) throw new Error(await failureOf(response));
      clock.follow(response.headers.get("Date"));
      await this.#read(response.body.getReader(), abort);
      throw new Error("the dashboard’s server has ended the stream");
    } catch (error) {
      if (this.#abort === abort) this.#again(error instanceof Error ? error.message : String(error));
    }
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>, abort: AbortController): Promise<void> {
    const parser = new EventParser();
    const decoder = new TextDecoder();
    for (;;) {
      const silent = setTimeout(
        () => abort.abort(new Error("no answer from the dashboard’s server")),
        SILENT_SECONDS * SECOND,
      );
      const { done, value } = await reader.read().finally(() => clearTimeout(silent));
      if (done) return;
      for (const event of parser.take(decoder.decode(value, { stream: true }))) this.#take(event);
      this.#heard();
    }
  }

  #heard(): void {
    this.line = "live";
    this.problem = "";
    this.#retrySeconds = FIRST_RETRY_SECONDS;
    clock.resume();
    this.heardAt = clock.serverNow();
  }

  #take({ event, data }: SentEvent): void {
    const told = JSON.parse(data) as Reset | Change;
    if (event === "reset") this.#partial = afterReset(told as Reset);
    else if (event === "change") this.#partial = withChange(this.#partial ?? this.told, told as Change);
    if (this.#partial === null) return;
    if (told.more) {
      if (!this.isWhole) this.told = this.#partial;
      this.isTold = this.summary !== null;
      return;
    }
    this.told = this.#partial;
    this.#partial = null;
    this.#id = told.id || this.#id;
    this.isTold = this.isWhole = true;
  }

  #again(problem: string): void {
    this.#partial = null;
    this.line = "broken";
    this.problem = problem;
    clock.pause(this.heardAt);
    this.nextTryAt = Date.now() + this.#retrySeconds * SECOND;
    this.#timer = setTimeout(() => void this.#follow(), this.#retrySeconds * SECOND);
    this.#retrySeconds = Math.min(LONGEST_RETRY_SECONDS, this.#retrySeconds * 2);
  }
}

export async function failureOf(response: Response): Promise<string> {
  try {
    return ((await response.json()) as Failure).error || `HTTP ${response.status}`;
  } catch {
    return `HTTP ${response.status}`;
  }
}

export const live = new Live();
