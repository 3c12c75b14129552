import { answerOptions, envelope, given, correctionBody, selection } from "./builders.js";
import type { CorrectionOptions, SelectionOptions, EventOptions, RankingRef } from "./builders.js";
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

/** Options of a ranking. */
export interface ShownOptions extends EventOptions {
  /** The user's request, in their own words. */
  instruction?: string;
  /** Unique per user; by default a new one. */
  rankingId?: string;
  /** The slim skill that influenced the order; lets analysts compare choices with and without it. */
  skill?: { skill_version: number; text: string };
  /** The arm of an experiment of yours, by which metrics and DuckDB compare. */
  arm?: string;
  /** The session of the event. */
  sessionId?: string;
}

/** Options of a signal. */
export interface SignalOptions extends EventOptions {
  /** `rated`: the rating; `dwelled`: seconds. */
  value?: number;
  /** `rated`: worst and best rating; by default 1 and 5. */
  scale?: readonly [number, number];
  /** The ranking in which the item was shown, if any. */
  rankingId?: string;
  /** The session of the event. */
  sessionId?: string;
}

/**
 * Sends an app's events, one method per kind. Each puts the event into the queue and returns it at once; the queue
 * sends in the background.
 *
 * Every method throws `NotDelivered` while the queue is full, and `Closed` after `close`.
 */
export class Events {
  readonly #queue: Queue;

  /** @internal */
  constructor(queue: Queue) {
    this.#queue = queue;
  }

  /** Sends the list that the user was shown, first place first; at most 100 distinct items. */
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
   * Sends the item that the user took from a ranking, or several (`others`).
   *
   *     sager.events.selection(ranking, "arrival");
   *     sager.events.selection({ user_id: "ann", ranking_id: "r-17" }, "arrival"); // in another web request
   */
  selection(ranking: RankingRef, itemId: string, options: SelectionOptions = {}): Selection {
    return this.#send("selections", selection(ranking, itemId, options));
  }

  /** Sends that the user rejected the whole list. Do not send it if they merely left. */
  noneOfThese(ranking: RankingRef, options: Omit<SelectionOptions, "others" | "inOrder"> = {}): Selection {
    return this.#send("selections", selection(ranking, null, options));
  }

  /** Sends a signal on an item, shown in a ranking or not; custom kinds need a weight in SAGER_SIGNALS. */
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

  /** Sends a correction, in words or in fields. The next ranking follows it. */
  correct(user: string, domain: string, correction: string | CorrectionOptions): Correction {
    const all = typeof correction === "string" ? { text: correction } : correction;
    return this.#send("corrections", { ...envelope(all), ...correctionBody(user, domain, all) });
  }

  /** Sends the user's answer to a ranking's question: the value of one of its options. */
  answer(ranking: Ranking, option: string, options: EventOptions & { scope?: Scope } = {}): Correction {
    return this.correct(ranking.user_id, ranking.domain, { ...options, ...answerOptions(ranking, option) });
  }

  /** Sends a past positive event, for the statistical prior. */
  interaction(user: string, domain: string, item: ItemLike, options: EventOptions = {}): Interaction {
    return this.#send("interactions", { ...envelope(options), user_id: user, domain, item });
  }

  /** Sends an item of the catalogue. */
  item(domain: string, item: ItemLike, options: EventOptions = {}): Item {
    return this.#send("items", { ...envelope(options), domain, item });
  }

  /** Number of events that the server has not acknowledged. */
  get pending(): number {
    return this.#queue.pending;
  }

  /** Resolves once the queue has room, for apps that send faster than the network. */
  room(signal?: AbortSignal): Promise<void> {
    return this.#queue.room(signal);
  }

  #send<T extends Envelope>(topic: string, event: T): T {
    this.#queue.put(topic, event);
    return event;
  }
}
