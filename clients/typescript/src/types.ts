/** The types of what is sent and answered, by the names that the API's document gives them. */
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
/** What a host gets of a slim skill: `text` is what to put into its prompt. */
export type Slim = Schemas["SlimView"];
export type EventResults = Schemas["BatchOutcome"];
export type Understood = Schemas["CorrectionOutcome"];
/** Why a line or a statement stands in a skill, step by step. */
export type Explained = Schemas["LineHistory"] | Schemas["StatementHistory"];
/** What a request to forget would reach, and what confirms it. */
export type ForgetPreview = Schemas["ErasurePreview"];
export type Forgotten = Schemas["ErasureOutcome"];
export type PolicySkill = Schemas["PolicySkill"];
export type SkillDiff = Schemas["SkillDiff"];
export type Problem = Schemas["Problem"];

/** What an app has of an item: its id, and whatever else it knows; without metadata it teaches nothing. */
export type ItemLike = Pick<Candidate, "item_id"> & Partial<Candidate>;
/** One thing that a form says: prefers, avoids or instead. */
export type Says = Pick<Directive, "stance"> & Partial<Directive>;

/** What every event has. */
export interface Envelope {
  event_id: string;
  /** ISO 8601 with its zone. */
  occurred_at: string;
}

/** A list that a person saw, or was asked for: what `events.ranking` and `rank` give back. */
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
  directives?: Says[];
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
