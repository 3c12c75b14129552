import { SagerProblem, Unreachable } from "./errors.js";
import { type Http, isPassing, path, waitMs } from "./http.js";
import { linked, pause } from "./abort.js";
import { type ServerSent, serverSent } from "./sse.js";
import type { Slim } from "./types.js";

/** Options of a slim skill. */
export interface SlimOptions {
  /** The user's request: matching likes come first. */
  request?: string;
  /** The user's session: while it lasts, `text` includes its tastes. */
  sessionId?: string;
  signal?: AbortSignal;
}

/** An event of a stream. */
export type SlimEvent =
  | { readonly kind: "slim"; readonly slim: Slim }
  | { readonly kind: "forgotten"; readonly user_id: string; readonly domain: string }
  /** A connection begins, and everything that there is follows, up to `ready`. */
  | { readonly kind: "reset" }
  /** Everything has come since the `reset`: drop what it did not name. */
  | { readonly kind: "ready" };

/** Options of a stream. */
export interface FollowOptions {
  /** Only this user's slim skill; requires a domain. */
  user?: string;
  domain?: string;
  signal?: AbortSignal;
  /** Silence after which a stream counts as broken; by default 45 s, three of the server's heartbeats. */
  silenceMs?: number;
}

const CACHED = 10_000;
const NOT_MODIFIED = 304;
const NOT_FOUND = 404;
const SILENCE_MS = 45_000;

/** Reads slim skills one by one, or follows them. */
export class Slims {
  readonly #http: Http;
  readonly #most: number;
  /** By request, least recently used first. */
  readonly #held = new Map<string, { tag: string; slim: Slim }>();

  /** @internal */
  constructor(http: Http, most = CACHED) {
    this.#http = http;
    this.#most = most;
  }

  /** Returns a user's slim skill in a domain; undefined while nothing is known. */
  async get(user: string, domain: string, { request, sessionId, signal }: SlimOptions = {}): Promise<Slim | undefined> {
    const where = path("v1", "users", user, "domains", domain, "slim");
    const key = JSON.stringify([user, domain, request, sessionId]);
    const held = this.#held.get(key);
    const headers: Record<string, string> = held ? { "If-None-Match": held.tag } : {};
    try {
      const response = await this.#http.ask("GET", where, {
        query: { request, session_id: sessionId },
        headers,
        signal,
      });
      this.#held.delete(key);
      if (response.status === NOT_MODIFIED && held) return this.#keep(key, held);
      const slim = (await response.json()) as Slim;
      const tag = response.headers.get("ETag");
      return tag ? this.#keep(key, { tag, slim }) : slim;
    } catch (error) {
      if (!(error instanceof SagerProblem) || error.status !== NOT_FOUND) throw error;
      this.#held.delete(key);
      return undefined;
    }
  }

  /**
   * Yields slim skills as they change. It reconnects, and each connection begins with everything that there is, up to
   * `ready`. Ends on the abort signal or when the loop is left; throws a `SagerProblem` if the server refuses.
   *
   *     for await (const change of sager.slims.follow({ signal })) {
   *       if (change.kind === "slim") console.log(change.slim.user_id, change.slim.text);
   *     }
   */
  async *follow(options: FollowOptions = {}): AsyncGenerator<SlimEvent, void> {
    const { user, domain, signal } = options;
    if ((user === undefined) !== (domain === undefined)) throw new TypeError("give a user and a domain, or neither");
    const one = user !== undefined && domain !== undefined;
    const where = one ? path("v1", "users", user, "domains", domain, "slim", "stream") : path("v1", "slim", "stream");
    let retryMs: number | undefined;
    for (let failures = 0; !signal?.aborted; failures += 1) {
      try {
        for await (const event of this.#events(where, options)) {
          failures = 0;
          retryMs = event.retryMs ?? retryMs;
          const change = changeOf(event.event, event.data);
          if (change) yield change;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (!isPassing(error)) throw error;
        await pause(Math.max(retryMs ?? 0, waitMs(error, failures + 1)), signal).catch(() => undefined);
        continue;
      }
      // The server has ended it, as when it restarts.
      await pause(retryMs ?? waitMs(undefined, failures + 1), signal).catch(() => undefined);
    }
  }

  /** Keeps all slim skills in memory, for hosts with many users. Resolves once all are read. */
  copy(options: Pick<FollowOptions, "signal"> = {}): Promise<SlimCopy> {
    return SlimCopy.of(this, options.signal);
  }

  async *#events(where: string, options: FollowOptions): AsyncGenerator<ServerSent, void> {
    const { controller: ends, unlink } = linked(options.signal);
    const request = { headers: { Accept: "text/event-stream" }, signal: options.signal };
    const response = await this.#http.stream(where, request, ends).catch((error) => {
      unlink();
      throw error;
    });
    if (!response.body) throw new Unreachable("the stream has no body");
    const ms = options.silenceMs ?? SILENCE_MS;
    let timer = setTimeout(() => ends.abort(), ms);
    const watched = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        clearTimeout(timer);
        timer = setTimeout(() => ends.abort(), ms);
        controller.enqueue(chunk);
      },
    });
    try {
      yield* serverSent(response.body.pipeThrough(watched), ends.signal);
    } catch (error) {
      throw error instanceof SagerProblem ? error : new Unreachable("the stream has broken off", { cause: error });
    } finally {
      clearTimeout(timer);
      unlink();
      ends.abort();
    }
  }

  #keep(key: string, held: { tag: string; slim: Slim }): Slim {
    this.#held.set(key, held);
    if (this.#held.size > this.#most) this.#held.delete(this.#held.keys().next().value as string);
    return held.slim;
  }
}

/** All current slim skills of a deployment, in memory. */
export class SlimCopy {
  readonly #slims = new Map<string, Slim>();
  readonly #ends: AbortController;
  #failure: unknown;

  private constructor(ends: AbortController) {
    this.#ends = ends;
  }

  /** @internal */
  static async of(slims: Slims, signal?: AbortSignal): Promise<SlimCopy> {
    const copy = new SlimCopy(linked(signal).controller);
    await new Promise<void>((resolve, reject) => {
      copy.#follow(slims, copy.#ends.signal, resolve).then(
        () => reject(signal?.reason ?? new Unreachable("the copy was closed")),
        (error: unknown) => {
          copy.#failure = error;
          reject(error);
        },
      );
    });
    return copy;
  }

  /** Returns the text for this user's prompt; empty while nothing is known. */
  get(user: string, domain: string): string {
    return this.slim(user, domain)?.text ?? "";
  }

  /** Returns the whole slim skill. */
  slim(user: string, domain: string): Slim | undefined {
    // An outdated copy may still hold erased users.
    if (this.#failure !== undefined) throw this.#failure;
    return this.#slims.get(JSON.stringify([user, domain]));
  }

  /** The number of slim skills. */
  get size(): number {
    return this.#slims.size;
  }

  /** Stop following; the skills stay readable. */
  close(): void {
    this.#ends.abort();
  }

  async #follow(slims: Slims, signal: AbortSignal, ready: () => void): Promise<void> {
    // Held skills that this connection has not named yet; those left at `ready` are gone.
    let unnamed = new Set<string>();
    for await (const change of slims.follow({ signal })) {
      if (change.kind === "reset") unnamed = new Set(this.#slims.keys());
      else if (change.kind === "ready") {
        for (const key of unnamed) this.#slims.delete(key);
        unnamed.clear();
        ready();
      } else {
        const { user_id, domain } = change.kind === "slim" ? change.slim : change;
        const key = JSON.stringify([user_id, domain]);
        unnamed.delete(key);
        if (change.kind === "slim") this.#slims.set(key, change.slim);
        else this.#slims.delete(key);
      }
    }
  }
}

function changeOf(event: string, data: string): SlimEvent | undefined {
  if (event === "reset" || event === "ready") return { kind: event };
  if (event !== "slim" && event !== "forgotten") return undefined;
  let read: unknown;
  try {
    read = JSON.parse(data);
  } catch (error) {
    throw new Unreachable("the stream has an event that is not JSON", { cause: error });
  }
  return event === "slim"
    ? { kind: "slim", slim: read as Slim }
    : { kind: "forgotten", ...(read as { user_id: string; domain: string }) };
}
