/**
 * What an app needs of sager-streams: tell it what was shown and taken, and read each user's slim skill back.
 *
 * @packageDocumentation
 */
export { Closed, NotAsked, NotDelivered, NotShown, SagerError, SagerProblem, Unreachable } from "./errors.js";
export type { Undelivered } from "./errors.js";
export { Events } from "./events.js";
export type { ShownOptions, SignalOptions } from "./events.js";
export type { HttpOptions } from "./http.js";
export { questionOf } from "./making.js";
export type { Said, Taken, When, Which } from "./making.js";
export type { components, operations, paths } from "./openapi.js";
export type { QueueOptions } from "./queue.js";
export { Forgetting, Sager } from "./sager.js";
export type { ForgetOptions, RankOptions, SagerOptions } from "./sager.js";
export { SlimCopy, Slims } from "./slims.js";
export type { Change, Follow, SlimFor } from "./slims.js";
export type * from "./types.js";
