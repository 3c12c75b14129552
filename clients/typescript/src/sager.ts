import { Events } from "./events.js";
import { Http, path } from "./http.js";
import type { HttpOptions } from "./http.js";
import { saying } from "./making.js";
import type { Said } from "./making.js";
import { Queue } from "./queue.js";
import type { QueueOptions } from "./queue.js";
import { Slims } from "./slims.js";
import type { SlimFor } from "./slims.js";
import type { Explained, ForgetPreview, Forgotten, ItemLike, PolicySkill, Ranking, SkillDiff, Slim, Understood } from "./types.js";

/** How a client is made. */
export interface SagerOptions extends HttpOptions {
  /** Bounds of the queue of events, and who is told of those that are given up. */
  queue?: QueueOptions;
  /** How many slim skills are remembered with their ETag; by default 10,000. */
  maxCached?: number;
}

/** What may be said of a ranking that is asked for. */
export interface RankOptions {
  /** What the user asked for, in their own words. */
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
export interface ForgetOptions {
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

  /** The slim skill of a user in a domain, for their prompt; undefined while nothing is known of them. */
  slim(user: string, domain: string, options: SlimFor = {}): Promise<Slim | undefined> {
    return this.slims.get(user, domain, options);
  }

  /**
   * Ask for a ranking, and wait for it: the candidates in the order that the pipeline gives them.
   *
   * How well they suit is in `injected.fit`, if anything is known of it.
   */
  rank(user: string, domain: string, candidates: readonly ItemLike[], options: RankOptions = {}): Promise<Ranking> {
    const { instruction, sessionId: session_id, clarify, timeoutMs = RANK_MS, signal } = options;
    // With an id of its own it may be sent again: it stays the same ranking.
    const request_id = options.rankingId ?? crypto.randomUUID();
    const body = { user_id: user, domain, candidates, instruction, session_id, clarify, request_id };
    return this.#http.json("POST", "/v1/rank", { body, timeoutMs, signal, repeatable: true });
  }

  /** What a person says of their taste; resolves with what was understood. `events.correct` waits for nothing. */
  correct(user: string, domain: string, said: string | Said, signal?: AbortSignal): Promise<Understood> {
    const all = typeof said === "string" ? { text: said } : said;
    const { user_id: _, domain: __, ...body } = saying(user, domain, all);
    return this.#http.json("POST", path("v1", "users", user, "domains", domain, "corrections"), { body, signal });
  }

  /** All skills of a user, or the one of a domain: its lines with tier and evidence. */
  async skills(user: string, signal?: AbortSignal): Promise<PolicySkill[]> {
    return (await this.#http.json<{ skills: PolicySkill[] }>("GET", path("v1", "users", user, "skills"), { signal }))
      .skills;
  }

  /** The newest versions of a user's skills: what changed, and on what evidence. */
  async log(user: string, options: { domain?: string; last?: number; signal?: AbortSignal } = {}): Promise<SkillDiff[]> {
    const { signal, ...query } = options;
    return (await this.#http.json<{ diffs: SkillDiff[] }>("GET", path("v1", "users", user, "log"), { query, signal }))
      .diffs;
  }

  /** Why a line stands in a skill, step by step and in words that a lay person reads. */
  explain(user: string, domain: string, attributeId: string, signal?: AbortSignal): Promise<Explained> {
    const where = path("v1", "users", user, "domains", domain, "lines", attributeId);
    return this.#http.json("GET", where, { signal });
  }

  /**
   * What a request to forget would remove. Nothing goes before `confirm`.
   *
   *     const preview = await sager.forget("ann");
   *     console.log(preview.goes);
   *     await preview.confirm();
   */
  async forget(user: string, options: ForgetOptions = {}): Promise<Forgetting> {
    const { domain, line } = options;
    const body = domain === undefined ? { everything: true } : { domain, ...(line === undefined ? {} : { line }) };
    const where = path("v1", "users", user, "forget");
    const preview = await this.#http.json<ForgetPreview>("POST", where, { body, repeatable: true });
    return new Forgetting(this.#http, where, body, user, preview);
  }

  /**
   * Wait until the server has all events.
   *
   * @throws NotDelivered: it took not all of them in time, or some were given up since the last call.
   */
  flush(ms = FLUSH_MS): Promise<void> {
    return this.#queue.flush(ms);
  }

  /** Flush, then take no more events. What is not delivered by then is given up. */
  close(ms = FLUSH_MS): Promise<void> {
    return this.#queue.close(ms);
  }
}

/** A request to forget that was not sent yet. */
export class Forgetting {
  /** What would go, by store. */
  readonly goes: ForgetPreview["goes"];
  readonly #confirm: () => Promise<Forgotten>;

  /** @internal */
  constructor(http: Http, where: string, body: object, user: string, preview: ForgetPreview) {
    this.goes = preview.goes;
    const confirmed = { ...body, confirm: user };
    this.#confirm = () => http.json("POST", where, { body: confirmed, repeatable: true });
  }

  /** Forget it. There is no way back. */
  confirm(): Promise<Forgotten> {
    return this.#confirm();
  }
}
