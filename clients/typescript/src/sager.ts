import { Events } from "./events.js";
import { Http, path } from "./http.js";
import type { HttpOptions } from "./http.js";
import { correctionBody } from "./builders.js";
import type { CorrectionOptions } from "./builders.js";
import { Queue } from "./queue.js";
import type { QueueOptions } from "./queue.js";
import { Slims } from "./slims.js";
import type { SlimOptions } from "./slims.js";
import type { History, ErasurePreview, ErasureOutcome, ItemLike, PolicySkill, Ranking, SkillDiff, Slim, CorrectionOutcome } from "./types.js";

/** How a client is made. */
export interface SagerOptions extends HttpOptions {
  /** Bounds of the queue of events, and who is told of those that are given up. */
  queue?: QueueOptions;
  /** How many slim skills are remembered with their ETag; by default 10,000. */
  maxCached?: number;
}

/** What may be said of a ranking that is asked for. */
export interface RankOptions {
  /** The user's request, in their own words. */
  instruction?: string;
  /** Names the ranking; by default a new one. */
  rankingId?: string;
  /** The session that it is part of: what was taken and said in it counts too. */
  sessionId?: string;
  /** Whether the ranking may bring a question along; see `events.answer`. */
  clarify?: boolean;
  /** How long to wait, in milliseconds. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** What is to be forgotten: all of a person, one domain, or one line of it. */
export interface ErasureOptions {
  domain?: string;
  /** The line's id, such as `preference:genre:crime`; needs the domain. */
  line?: string;
}

const FLUSH_MS = 30_000;
const RANK_MS = 30_000;

/**
 * A deployment of sager-streams, reached by its HTTP API. One per process, for its life.
 *
 *     const sager = new Sager({ url: "http://localhost:8088", token });
 *     const ranking = sager.events.ranking("ann", "films", shown);
 *     sager.events.selection(ranking, "arrival");
 *     await sager.close();
 *
 * A token opens people's data: keep it on a server, not in a page.
 */
export class Sager {
  /** What the app tells of its users. */
  readonly events: Events;
  /** Slim skills, one by one, followed or copied. */
  readonly slims: Slims;
  readonly #http: Http;
  readonly #queue: Queue;

  constructor(options: SagerOptions) {
    this.#http = new Http(options);
    this.#queue = new Queue(this.#http, options.queue ?? {});
    this.events = new Events(this.#queue);
    this.slims = new Slims(this.#http, options.maxCached);
  }

  /** Returns a user's slim skill in a domain, for their prompt; undefined while nothing is known. */
  slim(user: string, domain: string, options: SlimOptions = {}): Promise<Slim | undefined> {
    return this.slims.get(user, domain, options);
  }

  /**
   * Requests a ranking of these candidates, and waits for it.
   *
   * `injected.fit` estimates how well they suit, if anything is known.
   */
  rank(user: string, domain: string, candidates: readonly ItemLike[], options: RankOptions = {}): Promise<Ranking> {
    const { instruction, sessionId: session_id, clarify, timeoutMs = RANK_MS, signal } = options;
    // With an id, a retry yields the same ranking.
    const request_id = options.rankingId ?? crypto.randomUUID();
    const body = { user_id: user, domain, candidates, instruction, session_id, clarify, request_id };
    return this.#http.json("POST", "/v1/rank", { body, timeoutMs, signal, repeatable: true });
  }

  /** Sends a correction, and waits for the worker's interpretation. `events.correct` does not wait. */
  correct(user: string, domain: string, correction: string | CorrectionOptions, signal?: AbortSignal): Promise<CorrectionOutcome> {
    const all = typeof correction === "string" ? { text: correction } : correction;
    const { user_id: _, domain: __, ...body } = correctionBody(user, domain, all);
    return this.#http.json("POST", path("v1", "users", user, "domains", domain, "corrections"), { body, signal });
  }

  /** Returns all skills of a user: their lines with tier and evidence. */
  async skills(user: string, signal?: AbortSignal): Promise<PolicySkill[]> {
    return (await this.#http.json<{ skills: PolicySkill[] }>("GET", path("v1", "users", user, "skills"), { signal }))
      .skills;
  }

  /** Returns the newest versions of a user's skills: the changes and their evidence. */
  async log(user: string, options: { domain?: string; last?: number; signal?: AbortSignal } = {}): Promise<SkillDiff[]> {
    const { signal, ...query } = options;
    return (await this.#http.json<{ diffs: SkillDiff[] }>("GET", path("v1", "users", user, "log"), { query, signal }))
      .diffs;
  }

  /** Explains a line of a skill step by step, in plain words. */
  explain(user: string, domain: string, attributeId: string, signal?: AbortSignal): Promise<History> {
    const where = path("v1", "users", user, "domains", domain, "lines", attributeId);
    return this.#http.json("GET", where, { signal });
  }

  /**
   * Previews an erasure. Nothing is removed before `confirm`.
   *
   *     const preview = await sager.forget("ann");
   *     console.log(preview.goes);
   *     await preview.confirm();
   */
  async forget(user: string, options: ErasureOptions = {}): Promise<Erasure> {
    const { domain, line } = options;
    const body = domain === undefined ? { everything: true } : { domain, ...(line === undefined ? {} : { line }) };
    const where = path("v1", "users", user, "forget");
    const preview = await this.#http.json<ErasurePreview>("POST", where, { body, repeatable: true });
    return new Erasure(this.#http, where, body, user, preview);
  }

  /**
   * Waits until the server has all events.
   *
   * @throws NotDelivered: some were not accepted in time, or were given up since the last call.
   */
  flush(ms = FLUSH_MS): Promise<void> {
    return this.#queue.flush(ms);
  }

  /** Flushes, then refuses further events. Undelivered events are given up. */
  close(ms = FLUSH_MS): Promise<void> {
    return this.#queue.close(ms);
  }
}

/** An erasure that awaits its confirmation. */
export class Erasure {
  /** The data that would be removed, by store. */
  readonly goes: ErasurePreview["goes"];
  readonly #confirm: () => Promise<ErasureOutcome>;

  /** @internal */
  constructor(http: Http, where: string, body: object, user: string, preview: ErasurePreview) {
    this.goes = preview.goes;
    const confirmed = { ...body, confirm: user };
    this.#confirm = () => http.json("POST", where, { body: confirmed, repeatable: true });
  }

  /** Erases the data. This cannot be undone. */
  confirm(): Promise<ErasureOutcome> {
    return this.#confirm();
  }
}
