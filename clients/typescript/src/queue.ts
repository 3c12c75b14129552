import { Closed, NotDelivered, SagerProblem } from "./errors.js";
import type { Undelivered } from "./errors.js";
import { type Http, isPassing, waitMs } from "./http.js";
import { pause } from "./abort.js";
import type { Envelope, EventResults } from "./types.js";

/** Bounds of the queue. */
export interface QueueOptions {
  /** How many events wait at most; by default 10,000. */
  maxEvents?: number;
  /** How many bytes of JSON they have at most; by default 32 MiB. */
  maxBytes?: number;
  /** How long the first event of a request waits for others, in milliseconds; by default 50. */
  lingerMs?: number;
  /** After how many milliseconds without an acknowledgement an event is given up; by default 5 minutes. */
  giveUpMs?: number;
  /** Told of each event that is given up, and why. */
  onError?: (undelivered: Undelivered) => void;
}

interface Entry {
  readonly topic: string;
  /** As it was when it was put in, whatever the app has done with the object since. */
  readonly json: string;
  readonly bytes: number;
  readonly at: number;
}

type Result = EventResults["results"][number];

const MAX_EVENTS = 10_000;
const MAX_BYTES = 32 * 1024 * 1024;
const LINGER_MS = 50;
const GIVE_UP_MS = 5 * 60_000;
/** What the API takes at once. */
const BATCH_EVENTS = 500;
const BATCH_BYTES = 1024 * 1024;
const AROUND_EVENT = '{"topic":"","event":},'.length;
const AROUND_BATCH = '{"events":[]}'.length;
const TOLD = 100;
const TOO_LARGE = 413;

/**
 * Events on their way to the server: in order, one request at a time, tried again with the same ids until they are
 * acknowledged. So an event may arrive twice, which is harmless: the pipeline counts each id once.
 */
export class Queue {
  readonly #http: Http;
  readonly #options: Required<Omit<QueueOptions, "onError">>;
  readonly #onError: ((undelivered: Undelivered) => void) | undefined;
  #waiting: Entry[] = [];
  #bytes = 0;
  #batch = BATCH_EVENTS;
  #running = false;
  #hurry: (() => void) | undefined;
  #rushed = false;
  #closed = false;
  #givenUp = 0;
  #undelivered: Undelivered[] = [];
  #cause = "";
  readonly #ends = new AbortController();
  readonly #changed = new Set<() => void>();

  constructor(http: Http, options: QueueOptions) {
    this.#http = http;
    this.#onError = options.onError;
    this.#options = {
      maxEvents: options.maxEvents ?? MAX_EVENTS,
      maxBytes: options.maxBytes ?? MAX_BYTES,
      lingerMs: options.lingerMs ?? LINGER_MS,
      giveUpMs: options.giveUpMs ?? GIVE_UP_MS,
    };
  }

  get pending(): number {
    return this.#waiting.length;
  }

  get #hasRoom(): boolean {
    return this.#waiting.length < this.#options.maxEvents && this.#bytes < this.#options.maxBytes;
  }

  /** Take an event in. */
  put(topic: string, event: Envelope): void {
    if (this.#closed) throw new Closed("this client is closed: make a new one");
    const json = JSON.stringify(event);
    const bytes = new TextEncoder().encode(json).length + topic.length + AROUND_EVENT;
    if (bytes + AROUND_BATCH > BATCH_BYTES) {
      throw new NotDelivered(`an event of ${bytes} bytes: the API takes ${BATCH_BYTES} at once`);
    }
    if (!this.#hasRoom) {
      throw new NotDelivered(`no room: ${this.pending} events wait${this.#cause && `: ${this.#cause}`}`);
    }
    this.#waiting.push({ topic, json, bytes, at: Date.now() });
    this.#bytes += bytes;
    if (this.#waiting.length >= this.#batch) this.#hurry?.();
    if (!this.#running) void this.#run();
  }

  async room(signal?: AbortSignal): Promise<void> {
    while (!this.#hasRoom && !this.#closed) await this.#change(signal);
  }

  /** Wait until all is acknowledged. */
  async flush(ms: number): Promise<void> {
    const limit = AbortSignal.timeout(ms);
    try {
      while (this.pending) {
        this.#rushed = true;
        this.#hurry?.();
        await this.#change(limit);
      }
    } catch (error) {
      if (!limit.aborted) throw error;
    }
    this.#report(ms);
  }

  async close(ms: number): Promise<void> {
    try {
      await this.flush(ms);
    } finally {
      this.#closed = true;
      this.#ends.abort(new Closed("this client is closed"));
      this.#drop(this.#waiting.length, "the client was closed before");
    }
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      await this.#linger();
      while (this.#waiting.length && !this.#closed) await this.#sendSome();
    } finally {
      this.#running = false;
      this.#rushed = false;
    }
  }

  /** Give others the time to come along. */
  async #linger(): Promise<void> {
    if (this.#rushed || this.#waiting.length >= this.#batch) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#options.lingerMs);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#hurry = undefined;
  }

  async #sendSome(): Promise<void> {
    const batch = this.#next();
    for (let attempt = 1; ; attempt += 1) {
      try {
        const request = { json: bodyOf(batch), signal: this.#ends.signal, repeatable: true };
        const response = await this.#http.once("POST", "/v1/events", request);
        this.#settle(batch, ((await response.json()) as EventResults).results);
        this.#cause = "";
        return;
      } catch (error) {
        if (this.#closed) return;
        this.#cause = error instanceof Error ? error.message : String(error);
        if (error instanceof SagerProblem && error.status === TOO_LARGE && batch.length > 1) {
          // A proxy may take less than the API does, and goes on doing so.
          this.#batch = Math.ceil(batch.length / 2);
          return;
        }
        const late = batch.findIndex((each) => each.at + this.#options.giveUpMs > Date.now());
        const given = !isPassing(error) || late < 0 ? batch.length : late;
        this.#drop(given, this.#cause);
        if (given) return;
        await pause(waitMs(error, attempt), this.#ends.signal).catch(() => undefined);
        if (this.#closed) return;
      }
    }
  }

  #next(): Entry[] {
    const batch: Entry[] = [];
    let bytes = AROUND_BATCH;
    for (const entry of this.#waiting) {
      bytes += entry.bytes;
      if (batch.length >= this.#batch || bytes > BATCH_BYTES) break;
      batch.push(entry);
    }
    return batch;
  }

  /** The first in the queue are dealt with: taken, or refused one by one. */
  #settle(batch: Entry[], results: Result[]): void {
    this.#leave(batch.length);
    for (const [at, entry] of batch.entries()) {
      const result = results[at];
      if (result?.status === "accepted") continue;
      const causes = (result?.errors ?? []).map(({ field, what }) => `${field}: ${what}`);
      this.#tell(entry, causes.join("; ") || "refused");
    }
    this.#notify();
  }

  #drop(count: number, cause: string): void {
    for (const entry of this.#leave(count)) this.#tell(entry, cause);
    this.#notify();
  }

  #leave(count: number): Entry[] {
    const gone = this.#waiting.splice(0, count);
    for (const entry of gone) this.#bytes -= entry.bytes;
    return gone;
  }

  #tell(entry: Entry, cause: string): void {
    this.#givenUp += 1;
    const undelivered = { topic: entry.topic, event: JSON.parse(entry.json), cause } as Undelivered;
    if (this.#undelivered.length < TOLD) this.#undelivered.push(undelivered);
    try {
      this.#onError?.(undelivered);
    } catch (error) {
      // The sending must go on, and the app must hear of it: as of any other error that nobody catches.
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  #report(ms: number): void {
    const [left, givenUp, undelivered] = [this.pending, this.#givenUp, this.#undelivered];
    [this.#givenUp, this.#undelivered] = [0, []];
    const why = this.#cause && `: ${this.#cause}`;
    if (left) throw new NotDelivered(`${events(left)} not delivered within ${ms / 1000} s${why}`, undelivered);
    if (givenUp) throw new NotDelivered(`${events(givenUp)} given up: ${undelivered[0]?.cause ?? ""}`, undelivered);
  }

  #notify(): void {
    const waiting = [...this.#changed];
    this.#changed.clear();
    for (const resolve of waiting) resolve();
  }

  #change(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        this.#changed.delete(onChange);
        reject(signal?.reason);
      };
      const onChange = (): void => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      this.#changed.add(onChange);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }
}

function bodyOf(batch: Entry[]): string {
  const each = batch.map(({ topic, json }) => `{"topic":${JSON.stringify(topic)},"event":${json}}`);
  return `{"events":[${each.join(",")}]}`;
}

function events(count: number): string {
  return count === 1 ? "1 event" : `${count} events`;
}
