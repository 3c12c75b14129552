/**
 * The client of sager-streams: sends rankings and selections, reads each user's slim skill.
 *
 * @packageDocumentation
 */
export { Closed, UnknownOption, NotDelivered, NotShown, SagerError, SagerProblem, Unreachable } from "./errors.js";
export type { Undelivered } from "./errors.js";
export { Events } from "./events.js";
export type { ShownOptions, SignalOptions } from "./events.js";
export type { HttpOptions } from "./http.js";
export { questionOf } from "./builders.js";
export type { CorrectionOptions, SelectionOptions, EventOptions, RankingRef } from "./builders.js";
export type { components, operations, paths } from "./openapi.js";
export type { QueueOptions } from "./queue.js";
export { Erasure, Sager } from "./sager.js";
export type { ErasureOptions, RankOptions, SagerOptions } from "./sager.js";
export { SlimCopy, Slims } from "./slims.js";
export type { SlimEvent, FollowOptions, SlimOptions } from "./slims.js";
export type * from "./types.js";
