/** Makes events of what an app knows: new ids and the time of now where it gives none. */
import { NotAsked, NotShown } from "./errors.js";
import type { Correction, Envelope, ItemLike, ClarifyingQuestion, Ranking, Says, Scope, Selection, Shown } from "./types.js";

/** What may be said of every event. */
export interface When {
  /** When it happened; by default now. */
  at?: Date;
  /** By default a new one. What comes twice with the same one counts once. */
  eventId?: string;
}

/** Which ranking is meant: the ranking itself, or its ids where the app has it no more. */
export type Which = Pick<Shown, "user_id" | "ranking_id"> & Partial<Pick<Shown, "candidates" | "session_id">>;

const NAMED_ITEMS = 5;

/** An id and the time. */
export function envelope({ at, eventId }: When = {}): Envelope {
  return { event_id: eventId ?? crypto.randomUUID(), occurred_at: (at ?? new Date()).toISOString() };
}

/** Without the fields that are not given. */
export function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** What may be said of a selection. */
export interface Taken extends When {
  /** What else was taken of the list. One list is answered once: send all that was taken together. */
  others?: string[];
  /** Whether several stand in the order in which they were taken. */
  inOrder?: boolean;
  /** The version of the slim skill that the app had, used or not. */
  skillVersion?: number;
  /** By default the ranking's. */
  sessionId?: string;
}

/** What was taken from a ranking; null: nothing was. */
export function selection(ranking: Which, itemId: string | null, taken: Taken): Selection {
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

/** What may be said of a correction. */
export interface Said extends When {
  /** The person's own words. Where `directives` is given, these are kept and not read. */
  text?: string;
  /** What they see while they say it, first place first: "the second" is known by it. */
  ranking?: Shown | Ranking;
  /** The same where there is no ranking. */
  items?: ItemLike[];
  /** The item that it is about, if it is about one. */
  itemId?: string;
  /** What a form says. */
  directives?: Says[];
  /** Of what they see, the items that they say would do. */
  acceptable?: string[];
  /** By default what the words say, else `always`. */
  scope?: Scope;
  /** BCP 47, such as `de`; by default told by the words. */
  language?: string;
  /** The question that this answers; see `answer`. */
  answers?: string;
  /** By default the ranking's. */
  sessionId?: string;
}

/** The body of a correction without its envelope, as the API's own route takes it. */
export function saying(user: string, domain: string, said: Said): Omit<Correction, keyof Envelope> {
  const { ranking } = said;
  if (ranking && (said.items || ranking.user_id !== user || ranking.domain !== domain)) {
    throw new TypeError("the ranking says what was shown to whom: give its user and domain, and no items beside it");
  }
  const items = ranking?.candidates ?? said.items ?? [];
  const named = [said.itemId, ...(said.acceptable ?? []), ...(said.directives ?? []).map((each) => each.item_id)];
  for (const each of named) if (typeof each === "string") checkWasShown(each, items);
  return {
    user_id: user,
    domain,
    ...(items.length ? { items } : {}),
    ...given({
      text: said.text,
      directives: said.directives,
      acceptable: said.acceptable,
      item_id: said.itemId,
      scope: said.scope,
      language: said.language,
      answers: said.answers,
      ranking_id: ranking?.ranking_id,
      session_id: said.sessionId ?? ranking?.session_id ?? undefined,
    }),
  } as Omit<Correction, keyof Envelope>;
}

/** The question that a ranking brings along, if it does. */
export function questionOf(ranking: Ranking): ClarifyingQuestion | undefined {
  return ranking.injected?.fit?.question ?? undefined;
}

/** The answer to a ranking's question: the value of one of its options, or its `attribute_id`. */
export function answering(ranking: Ranking, option: string): Pick<Said, "ranking" | "directives" | "answers"> {
  const asked = questionOf(ranking);
  if (!asked) throw new NotAsked("the ranking asks nothing: rank with clarify: true, and look for questionOf(ranking)");
  const chosen = asked.options.find((each) => each.attribute_id === option || each.value === option);
  if (!chosen) {
    const options = asked.options.map((each) => each.value).join(", ");
    throw new NotAsked(`${JSON.stringify(option)} is none of the options, which are ${options}`);
  }
  const directives: Says[] = [{ stance: "prefers", dimension: asked.dimension, value: chosen.value }];
  return { ranking, directives, answers: asked.question_id };
}

function checkWasShown(itemId: string, items: readonly ItemLike[]): void {
  const shown = items.map((each) => each.item_id);
  if (shown.includes(itemId)) return;
  const more = shown.length > NAMED_ITEMS ? ` and ${shown.length - NAMED_ITEMS} more` : "";
  const are = shown.length ? `, which are ${shown.slice(0, NAMED_ITEMS).join(", ")}${more}` : "";
  throw new NotShown(`${JSON.stringify(itemId)} is none of the items that were shown${are}`);
}
