import { SagerProblem, Unreachable } from "./errors.js";
import { type Http, isPassing, path, waitMs } from "./http.js";
import { pause } from "./pause.js";
import { linked } from "./signals.js";
import { serverSent } from "./sse.js";
import type { Slim } from "./types.js";

/** For what a slim skill is asked. */
export interface SlimFor {
  /** What the person asks for now: likes that it is about come first. */
  request?: string;
  /** The session that the person is in: while it lasts, `text` has what it adds. */
  sessionId?: string;
  signal?: AbortSignal;
}

/** What happens on a stream; `id` is where to resume. */
export type Change =
  | { readonly kind: "slim"; readonly slim: Slim }
  | { readonly kind: "forgotten"; readonly user_id: string; readonly domain: string }
  /** What a copy holds is to be thrown away: everything follows anew. */
  | { readonly kind: "reset" }
  /** All until here has been told; resume with this id. */
  | { readonly kind: "position"; readonly id: string };

/** What to follow. */
export interface Follow {
  /** Only this user's slim skill; then a domain is needed too. */
  user?: string;
  domain?: string;
  /** `all`, the default, begins with every slim skill there is. */
  from?: "all" | "now";
  /** Where an earlier stream stopped. */
  lastEventId?: string;
  signal?: AbortSignal;
  /** After how long without a byte a stream counts as broken; by default 45 s, three of the server's beats. */
  silenceMs?: number;
}

const CACHED = 10_000;
const NOT_MODIFIED = 304;
const NOT_FOUND = 404;
const SILENCE_MS = 45_000;

/** Slim skills: asked for one by one, or followed. */
export class Slims {
  readonly #http: Http;
  readonly #most: number;
  /** By request, the least recently asked first. */
  readonly #held = new Map<string, { tag: string; slim: Slim }>();

  /** @internal */
  constructor(http: Http, most = CACHED) {
    this.#http = http;
    this.#most = most;
  }

  /** The slim skill of a user in a domain; undefined while nothing is known of them. */
  async get(user: string, domain: string, { request, sessionId, signal }: SlimFor = {}): Promise<Slim | undefined> {
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
   * Slim skills as they change, without end: it connects again where it stopped. Ends when the signal says so, or when
   * the loop is left; throws a `SagerProblem` when the server refuses it.
   *
   *     for await (const change of sager.slims.follow({ signal })) {
   *       if (change.kind === "slim") console.log(change.slim.user_id, change.slim.text);
   *     }
   */
  async *follow(options: Follow = {}): AsyncGenerator<Change, void> {
    const { user, domain, signal } = options;
    if ((user === undefined) !== (domain === undefined)) throw new TypeError("give a user and a domain, or neither");
    const one = user !== undefined && domain !== undefined;
    const where = one ? path("v1", "users", user, "domains", domain, "slim", "stream") : path("v1", "slim", "stream");
    let last = options.lastEventId ?? "";
    let retryMs: number | undefined;
    for (let failures = 0; !signal?.aborted; failures += 1) {
      try {
        const headers: Record<string, string> = { Accept: "text/event-stream" };
        if (last) headers["Last-Event-ID"] = last;
        const asked = { headers, query: one ? {} : { from: options.from } };
        for await (const told of this.#events(where, asked, options, last)) {
          failures = 0;
          retryMs = told.retryMs ?? retryMs;
          last = told.id;
          const change = changeOf(told.event, told.data, told.id);
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

  /** A copy of all slim skills in memory, for hosts with many users. Resolves once it has all there is. */
  copy(options: Pick<Follow, "signal"> = {}): Promise<SlimCopy> {
    return SlimCopy.of(this, options.signal);
  }

  async *#events(
    where: string,
    asked: Parameters<Http["stream"]>[1],
    options: Follow,
    last: string,
  ): AsyncGenerator<{ event: string; data: string; id: string; retryMs: number | undefined }, void> {
    const { controller: ends, unlink } = linked(options.signal);
    const response = await this.#http.stream(where, { ...asked, signal: options.signal }, ends).catch((error) => {
      unlink();
      throw error;
    });
    if (!response.body) throw new Unreachable("the stream has no body");
    const ms = options.silenceMs ?? SILENCE_MS;
    let timer = setTimeout(() => ends.abort(), ms);
    const heard = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        clearTimeout(timer);
        timer = setTimeout(() => ends.abort(), ms);
        controller.enqueue(chunk);
      },
    });
    try {
      yield* serverSent(response.body.pipeThrough(heard), last, ends.signal);
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

/** All slim skills of a deployment as of now, in memory. `get` is a plain call. */
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

  /** The text for this user's prompt; empty while nothing is known of them. */
  get(user: string, domain: string): string {
    return this.slim(user, domain)?.text ?? "";
  }

  /** The whole slim skill. */
  slim(user: string, domain: string): Slim | undefined {
    // Better no answer than an old one: people may have been forgotten since.
    if (this.#failure !== undefined) throw this.#failure;
    return this.#slims.get(JSON.stringify([user, domain]));
  }

  /** How many there are. */
  get size(): number {
    return this.#slims.size;
  }

  /** Follow no longer; what was read can still be asked for. */
  close(): void {
    this.#ends.abort();
  }

  async #follow(slims: Slims, signal: AbortSignal, ready: () => void): Promise<void> {
    for await (const change of slims.follow({ signal })) {
      if (change.kind === "slim") this.#slims.set(JSON.stringify([change.slim.user_id, change.slim.domain]), change.slim);
      else if (change.kind === "forgotten") this.#slims.delete(JSON.stringify([change.user_id, change.domain]));
      else if (change.kind === "reset") this.#slims.clear();
      else ready();
    }
  }
}

function changeOf(event: string, data: string, id: string): Change | undefined {
  if (event === "reset") return { kind: "reset" };
  if (event === "position") return { kind: "position", id };
  if (event !== "slim" && event !== "forgotten") return undefined;
  let read: unknown;
  try {
    read = JSON.parse(data);
  } catch (error) {
    throw new Unreachable("the stream has an event that is no JSON", { cause: error });
  }
  return event === "slim"
    ? { kind: "slim", slim: read as Slim }
    : { kind: "forgotten", ...(read as { user_id: string; domain: string }) };
}
