/** The types of events and answers, named as in the API's document. */
import type { components } from "./openapi.js";

type Schemas = components["schemas"];

export type Candidate = Schemas["Candidate"];
export type Ranking = Schemas["Ranking"];
export type Fit = Schemas["Fit"];
export type ClarifyingQuestion = Schemas["ClarifyingQuestion"];
export type Directive = Schemas["Directive"];
export type Scope = Schemas["Scope"];
/** The kinds of signals that every worker knows. */
export type Signal =
  | "liked"
  | "disliked"
  | "rated"
  | "saved"
  | "hidden"
  | "skipped"
  | "dwelled"
  | "purchased"
  | "returned";
/** A slim skill; `text` goes into the host's prompt. */
export type Slim = Schemas["SlimView"];
export type EventResults = Schemas["BatchOutcome"];
export type CorrectionOutcome = Schemas["CorrectionOutcome"];
/** The history of a line or a statement, step by step. */
export type History = Schemas["LineHistory"];
/** The data that an erasure would remove, and its confirmation. */
export type ErasurePreview = Schemas["ErasurePreview"];
export type ErasureOutcome = Schemas["ErasureOutcome"];
export type PolicySkill = Schemas["PolicySkill"];
export type SkillDiff = Schemas["SkillDiff"];
export type Problem = Schemas["Problem"];

/** An item: its id and any known fields; without metadata it teaches nothing. */
export type ItemLike = Pick<Candidate, "item_id"> & Partial<Candidate>;
/** One field of a form: prefers, avoids or instead. */
export type DirectiveLike = Pick<Directive, "stance"> & Partial<Directive>;

/** The fields of every event. */
export interface Envelope {
  event_id: string;
  /** ISO 8601 with its zone. */
  occurred_at: string;
}

/** A shown or requested list, as `events.ranking` and `rank` return it. */
export interface Shown extends Envelope {
  ranking_id: string;
  user_id: string;
  domain: string;
  instruction: string;
  candidates: ItemLike[];
  session_id?: string | null;
}

export interface Selection extends Envelope {
  user_id: string;
  ranking_id: string;
  item_id?: string | null;
  others?: string[];
  in_order?: boolean;
  none_taken?: boolean;
  skill_version?: number;
  session_id?: string | null;
}

export interface Feedback extends Envelope {
  user_id: string;
  domain: string;
  item: ItemLike;
  signal: string;
  value?: number;
  scale?: readonly [number, number];
  ranking_id?: string;
  session_id?: string | null;
}

export interface Correction extends Envelope {
  user_id: string;
  domain: string;
  text?: string;
  directives?: DirectiveLike[];
  acceptable?: string[];
  items?: ItemLike[];
  item_id?: string;
  scope?: Scope;
  language?: string;
  answers?: string;
  ranking_id?: string;
  session_id?: string | null;
}

export interface Interaction extends Envelope {
  user_id: string;
  domain: string;
  item: ItemLike;
}

export interface Item extends Envelope {
  domain: string;
  item: ItemLike;
}
