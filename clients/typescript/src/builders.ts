/** Builds events, with new ids and the current time by default. */
import { UnknownOption, NotShown } from "./errors.js";
import type { Correction, Envelope, ItemLike, ClarifyingQuestion, Ranking, DirectiveLike, Scope, Selection, Shown } from "./types.js";

/** Options of every event. */
export interface EventOptions {
  /** When it happened; by default now. */
  at?: Date;
  /** By default a new one. Events with the same id count once. */
  eventId?: string;
}

/** A ranking, or its ids if the app no longer has it. */
export type RankingRef = Pick<Shown, "user_id" | "ranking_id"> & Partial<Pick<Shown, "candidates" | "session_id">>;

const NAMED_ITEMS = 5;

/** Returns an id and the time. */
export function envelope({ at, eventId }: EventOptions = {}): Envelope {
  return { event_id: eventId ?? crypto.randomUUID(), occurred_at: (at ?? new Date()).toISOString() };
}

/** Drops undefined fields. */
export function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** Options of a selection. */
export interface SelectionOptions extends EventOptions {
  /** Further taken items. Only the first selection of a list counts: send all items together. */
  others?: string[];
  /** True if the items are in the order in which they were taken. */
  inOrder?: boolean;
  /** The version of the slim skill that the app had, used or not. */
  skillVersion?: number;
  /** By default the ranking's. */
  sessionId?: string;
}

/** Builds a selection; a null item means an abstention. */
export function selection(ranking: RankingRef, itemId: string | null, taken: SelectionOptions): Selection {
  const others = taken.others ?? [];
  if (ranking.candidates !== undefined) {
    for (const each of itemId === null ? [] : [itemId, ...others]) checkWasShown(each, ranking.candidates);
  }
  return {
    ...envelope(taken),
    user_id: ranking.user_id,
    ranking_id: ranking.ranking_id,
    ...(itemId === null ? { none_taken: true } : { item_id: itemId }),
    ...(others.length ? { others } : {}),
    ...given({
      in_order: taken.inOrder,
      skill_version: taken.skillVersion,
      session_id: taken.sessionId ?? ranking.session_id ?? undefined,
    }),
  } as Selection;
}

/** Options of a correction. */
export interface CorrectionOptions extends EventOptions {
  /** The user's own words. With `directives`, they are kept and not read. */
  text?: string;
  /** The list on screen, first place first: "the second" refers to it. */
  ranking?: Shown | Ranking;
  /** The items on screen, without a ranking. */
  items?: ItemLike[];
  /** The item that it is about, if any. */
  itemId?: string;
  /** The fields of a form. */
  directives?: DirectiveLike[];
  /** Shown items that would also do. */
  acceptable?: string[];
  /** By default as the words state, else `always`. */
  scope?: Scope;
  /** BCP 47, such as `de`; by default detected. */
  language?: string;
  /** The question that this answers; see `answer`. */
  answers?: string;
  /** By default the ranking's. */
  sessionId?: string;
}

/** Builds a correction without its envelope, as the API's route expects it. */
export function correctionBody(user: string, domain: string, options: CorrectionOptions): Omit<Correction, keyof Envelope> {
  const { ranking } = options;
  if (ranking && (options.items || ranking.user_id !== user || ranking.domain !== domain)) {
    throw new TypeError("ranking needs the same user and domain, and no items: it has its own");
  }
  const items = ranking?.candidates ?? options.items ?? [];
  const named = [options.itemId, ...(options.acceptable ?? []), ...(options.directives ?? []).map((each) => each.item_id)];
  for (const each of named) if (typeof each === "string") checkWasShown(each, items);
  return {
    user_id: user,
    domain,
    ...(items.length ? { items } : {}),
    ...given({
      text: options.text,
      directives: options.directives,
      acceptable: options.acceptable,
      item_id: options.itemId,
      scope: options.scope,
      language: options.language,
      answers: options.answers,
      ranking_id: ranking?.ranking_id,
      session_id: options.sessionId ?? ranking?.session_id ?? undefined,
    }),
  } as Omit<Correction, keyof Envelope>;
}

/** Returns the ranking's clarifying question, if it has one. */
export function questionOf(ranking: Ranking): ClarifyingQuestion | undefined {
  return ranking.injected?.fit?.question ?? undefined;
}

/** Builds the answer to a ranking's question, from an option's value or `attribute_id`. */
export function answerOptions(ranking: Ranking, option: string): Pick<CorrectionOptions, "ranking" | "directives" | "answers"> {
  const question = questionOf(ranking);
  if (!question) throw new UnknownOption("the ranking has no question: rank with clarify: true, see questionOf(ranking)");
  const chosen = question.options.find((each) => each.attribute_id === option || each.value === option);
  if (!chosen) {
    const options = question.options.map((each) => each.value).join(", ");
    throw new UnknownOption(`${JSON.stringify(option)} is none of the options, which are ${options}`);
  }
  const directives: DirectiveLike[] = [{ stance: "prefers", dimension: question.dimension, value: chosen.value }];
  return { ranking, directives, answers: question.question_id };
}

function checkWasShown(itemId: string, items: readonly ItemLike[]): void {
  const shown = items.map((each) => each.item_id);
  if (shown.includes(itemId)) return;
  const more = shown.length > NAMED_ITEMS ? ` and ${shown.length - NAMED_ITEMS} more` : "";
  const are = shown.length ? `, which are ${shown.slice(0, NAMED_ITEMS).join(", ")}${more}` : "";
  throw new NotShown(`${JSON.stringify(itemId)} was not shown${are}`);
}
