import type { Problem } from "./types.js";

/** What all errors of this client have in common. */
export class SagerError extends Error {
  override name = "SagerError";
}

/** An answer of the server that is an error: problem details (RFC 9457), or another text from a proxy on the way. */
export class SagerProblem extends SagerError {
  override name = "SagerProblem";
  /** The HTTP status, such as 403. */
  readonly status: number;
  /** The status in words. */
  readonly title: string;
  /** What is wrong and what to do. */
  readonly detail: string;
  /** 422: which fields are wrong, and why. */
  readonly errors: readonly { field: string; what: string }[];
  /** The whole body, with the members that this problem has besides. */
  readonly body: Readonly<Record<string, unknown>>;
  /** 429 and 503: in how many seconds to try again. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, body: Problem & Record<string, unknown>, retryAfterSeconds?: number) {
    const errors = Array.isArray(body.errors) ? body.errors : [];
    const fields = errors.map(({ field, what }) => `${field}: ${what}`).join("; ");
    super(`${status} ${body.title}: ${body.detail}${fields && ` (${fields})`}`);
    this.status = status;
    this.title = body.title;
    this.detail = body.detail;
    this.errors = errors;
    this.body = body;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The server was not reached, or its answer ended before its time. */
export class Unreachable extends SagerError {
  override name = "Unreachable";
}

/** An event that was given up, and why. */
export interface Undelivered {
  readonly topic: string;
  readonly event: Readonly<{ event_id: string } & Record<string, unknown>>;
  readonly cause: string;
}

/** Events did not reach the server in time, were refused, or find no room to wait in. */
export class NotDelivered extends SagerError {
  override name = "NotDelivered";
  /** The first of those that were given up since the last `flush`; at most 100. */
  readonly undelivered: readonly Undelivered[];

  constructor(message: string, undelivered: readonly Undelivered[] = []) {
    super(message);
    this.undelivered = undelivered;
  }
}

/** The item was not in the list that the user saw. */
export class NotShown extends SagerError {
  override name = "NotShown";
}

/** The ranking has no question, or its question has no such option. */
export class UnknownOption extends SagerError {
  override name = "UnknownOption";
}

/** The client was closed. */
export class Closed extends SagerError {
  override name = "Closed";
}
