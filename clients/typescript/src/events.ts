import { answering, envelope, given, saying, selection } from "./making.js";
import type { Said, Taken, When, Which } from "./making.js";
import type { Queue } from "./queue.js";
import type {
  Correction,
  Envelope,
  Feedback,
  Interaction,
  Item,
  ItemLike,
  Ranking,
  Scope,
  Selection,
  Shown,
  Signal,
} from "./types.js";

/** What may be said of a ranking. */
export interface ShownOptions extends When {
  /** What the user asked for, in their own words. */
  instruction?: string;
  /** Unique per user; by default a new one. */
  rankingId?: string;
  /** The slim skill that had its say in the order: then choices with and without can be compared. */
  skill?: { skill_version: number; text: string };
  /** The arm of an experiment of yours, by which metrics and DuckDB compare. */
  arm?: string;
  /** The session that it is part of. */
  sessionId?: string;
}

/** What may be said of a signal. */
export interface SignalOptions extends When {
  /** `rated`: the rating; `dwelled`: seconds. */
  value?: number;
  /** `rated`: the worst and the best rating there is; by default 1 and 5. */
  scale?: readonly [number, number];
  /** The ranking that the item was shown in, if it was. */
  rankingId?: string;
  /** The session that it is part of. */
  sessionId?: string;
}

/**
 * What an app tells of its users, each kind of event a method. Each puts the event into the queue, waits for nothing,
 * and gives the event back; the queue sends in the background.
 *
 * Every method throws `NotDelivered` while the queue is full, and `Closed` after `close`.
 */
export class Events {
  readonly #queue: Queue;

  /** @internal */
  constructor(queue: Queue) {
    this.#queue = queue;
  }

  /** What the user was shown, first place first; at most 100 items, each once. */
  ranking(user: string, domain: string, candidates: readonly ItemLike[], options: ShownOptions = {}): Shown {
    const common = envelope(options);
    const injected = given({
      arm: options.arm,
      skill_version: options.skill?.skill_version,
      slim_skill: options.skill?.text,
    });
    return this.#send("rankings", {
      ...common,
      ranking_id: options.rankingId ?? common.event_id,
      user_id: user,
      domain,
      instruction: options.instruction ?? "",
      candidates: [...candidates],
      ...(Object.keys(injected).length ? { injected } : {}),
      ...given({ session_id: options.sessionId }),
    } as Shown);
  }

  /**
   * Which item was taken from a ranking, or which several (`others`).
   *
   *     sager.events.selection(ranking, "arrival");
   *     sager.events.selection({ user_id: "ann", ranking_id: "r-17" }, "arrival"); // in another web request
   */
  selection(ranking: Which, itemId: string, options: Taken = {}): Selection {
    return this.#send("selections", selection(ranking, itemId, options));
  }

  /** The user wants nothing of a ranking, and said so. Not where they merely left: nobody knows why. */
  noneOfThese(ranking: Which, options: Omit<Taken, "others" | "inOrder"> = {}): Selection {
    return this.#send("selections", selection(ranking, null, options));
  }

  /** A signal on an item, shown in a ranking or not; also of a kind of your own, which the workers know by name. */
  feedback(
    user: string,
    domain: string,
    item: ItemLike,
    signal: Signal | (string & {}),
    options: SignalOptions = {},
  ): Feedback {
    const { value, scale, rankingId: ranking_id, sessionId: session_id } = options;
    const more = given({ value, scale, ranking_id, session_id });
    return this.#send("feedback", { ...envelope(options), user_id: user, domain, item, signal, ...more } as Feedback);
  }

  /** What a person says of their taste, in words or by a form. The next ranking goes by it. */
  correct(user: string, domain: string, said: string | Said): Correction {
    const all = typeof said === "string" ? { text: said } : said;
    return this.#send("corrections", { ...envelope(all), ...saying(user, domain, all) });
  }

  /** How a person answered the question that a ranking brought along: the value of one of its options. */
  answer(ranking: Ranking, option: string, options: When & { scope?: Scope } = {}): Correction {
    return this.correct(ranking.user_id, ranking.domain, { ...options, ...answering(ranking, option) });
  }

  /** A past positive event, for the statistical prior. */
  interaction(user: string, domain: string, item: ItemLike, options: When = {}): Interaction {
    return this.#send("interactions", { ...envelope(options), user_id: user, domain, item });
  }

  /** An entry of the catalogue. */
  item(domain: string, item: ItemLike, options: When = {}): Item {
    return this.#send("items", { ...envelope(options), domain, item });
  }

  /** How many events the server has not acknowledged. */
  get pending(): number {
    return this.#queue.pending;
  }

  /** Resolves once there is room for another event, for those who send faster than the network takes. */
  room(signal?: AbortSignal): Promise<void> {
    return this.#queue.room(signal);
  }

  #send<T extends Envelope>(topic: string, event: T): T {
    this.#queue.put(topic, event);
    return event;
  }
}
