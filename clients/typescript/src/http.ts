import { SagerProblem, Unreachable } from "./errors.js";
import { linked, pause } from "./abort.js";
import type { Problem } from "./types.js";

/** How the server is reached. */
export interface HttpOptions {
  /** Where `sager serve` or `sager up` answers, such as `http://localhost:8088`. */
  url: string | URL;
  /** The bearer token; a function is called before each request, for tokens that change. */
  token: string | (() => string | Promise<string>);
  /** Milliseconds until a request is given up; by default 15,000. */
  timeoutMs?: number;
  /** How often a request is tried that may be repeated; by default 4 times. */
  attempts?: number;
  /** Another `fetch`, for tests and proxies. */
  fetch?: typeof fetch;
}

/** One request. */
export interface RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  /** What is sent as JSON. */
  body?: unknown;
  /** The same where it is JSON already. */
  json?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
  /** Whether it may be sent again where nobody knows what became of it; by default only a GET. */
  repeatable?: boolean;
}

const TIMEOUT_MS = 15_000;
const ATTEMPTS = 4;
const LONGEST_PAUSE_MS = 10_000;
const FIRST_PAUSE_MS = 200;
/** The server, or a proxy before it, has not dealt with the request, or another try may go better. */
const PASSING = new Set([408, 429, 502, 503, 504]);
/** The request was certainly not carried out. */
const NOT_BEGUN = new Set([408, 429]);
const LONGEST_TEXT = 500;
/** Bytes of an answer, and of a refusal, that are read: the largest answers are exports. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_PROBLEM_BYTES = 64 * 1024;

/** Requests with the token, repeated where that is safe; every refusal is a `SagerProblem`. */
export class Http {
  readonly #base: string;
  readonly #token: HttpOptions["token"];
  readonly #timeoutMs: number;
  readonly #attempts: number;
  readonly #fetch: typeof fetch;

  constructor(options: HttpOptions) {
    const url = new URL(options.url);
    if (!["http:", "https:"].includes(url.protocol) || url.username || url.password || url.search || url.hash) {
      throw new TypeError("url: an http or https address without a user, a query or a fragment");
    }
    this.#base = url.href.replace(/\/$/, "");
    this.#token = options.token;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#attempts = options.attempts ?? ATTEMPTS;
    // Called as a plain function: a browser's `fetch` refuses to be a method of something else.
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /** The JSON of an answer. */
  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.ask(method, path, options);
    try {
      return (await response.json()) as T;
    } catch (error) {
      throw new Unreachable(`${method} ${template(path)}: the answer is no JSON, or ended too early`, { cause: error });
    }
  }

  /** An answer that is no error: 2xx or 304. */
  async ask(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const repeatable = options.repeatable ?? method === "GET";
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.once(method, path, options);
      } catch (error) {
        if (attempt >= this.#attempts || options.signal?.aborted || !mayRepeat(error, repeatable)) throw error;
        await pause(waitMs(error, attempt), options.signal);
      }
    }
  }

  /** The same, tried once. */
  async once(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const { controller, unlink } = linked(options.signal);
    const done = limited(controller, options.timeoutMs ?? this.#timeoutMs);
    try {
      const response = await this.#send(method, path, options, controller.signal);
      if (!response.ok && response.status !== 304) throw await problemOf(response);
      // Read whole here, so that the time limit holds for the body too.
      const body = [204, 304].includes(response.status) ? null : await bounded(response, MOST_BYTES);
      return new Response(body, { status: response.status, headers: response.headers });
    } catch (error) {
      throw withContext(error, `${method} ${template(path)}`, options.signal);
    } finally {
      done();
      unlink();
    }
  }

  /** An answer whose body goes on until the controller ends it; the time limit is for its head. */
  async stream(path: string, options: RequestOptions, controller: AbortController): Promise<Response> {
    const done = limited(controller, options.timeoutMs ?? this.#timeoutMs);
    try {
      const response = await this.#send("GET", path, options, controller.signal);
      if (!response.ok) throw await problemOf(response);
      return response;
    } catch (error) {
      throw withContext(error, `GET ${template(path)}`, options.signal);
    } finally {
      done();
    }
  }

  async #send(method: string, path: string, options: RequestOptions, signal: AbortSignal): Promise<Response> {
    const token = typeof this.#token === "string" ? this.#token : await this.#token();
    const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
    headers["Authorization"] = `Bearer ${token}`;
    const body = options.json ?? (options.body === undefined ? null : JSON.stringify(options.body));
    if (body !== null) headers["Content-Type"] = "application/json";
    return this.#fetch(`${this.#base}${path}${queryOf(options.query)}`, {
      method,
      headers,
      signal,
      body,
      // The API redirects nowhere; whoever does is somebody else.
      redirect: "error",
      credentials: "omit",
      cache: "no-store",
    });
  }
}

/** A path of literal parts and ids: `path("v1", "users", user)`. */
export function path(...parts: string[]): string {
  // A URL knows no path with such a part, percent-encoded or not: the request would be about something else.
  if (parts.some((part) => ["", ".", ".."].includes(part))) throw new TypeError("an id is empty, or dots alone");
  return parts.map((part) => `/${encodeURIComponent(part)}`).join("");
}

/** How long to wait before a request is tried again. */
export function waitMs(error: unknown, attempt: number): number {
  const retryAfter = error instanceof SagerProblem ? error.retryAfterSeconds : undefined;
  const most = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
  return retryAfter === undefined ? most * (0.5 + Math.random() / 2) : Math.min(retryAfter * 1000, 6 * LONGEST_PAUSE_MS);
}

/** Whether another try may go better. */
export function isPassing(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof SagerProblem && PASSING.has(error.status));
}

function mayRepeat(error: unknown, repeatable: boolean): boolean {
  return repeatable ? isPassing(error) : error instanceof SagerProblem && NOT_BEGUN.has(error.status);
}

function queryOf(query: RequestOptions["query"]): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}

/** The path for an error's text: ids of people stay out of logs. */
function template(path: string): string {
  return path.replace(/(\/users\/)[^/]+/, "$1…").replace(/(\/lines\/)[^/]+/, "$1…");
}

/** The whole body. It is read no further than `most` bytes: a server could send without end. */
async function bounded(response: Response, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    size += next.value.byteLength;
    if (size > most) {
      await reader?.cancel().catch(() => undefined);
      throw new Error(`the answer has more than ${most} bytes`);
    }
    parts.push(next.value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

async function problemOf(response: Response): Promise<SagerProblem> {
  const bytes = await bounded(response, MOST_PROBLEM_BYTES).catch(() => new Uint8Array());
  const text = new TextDecoder().decode(bytes);
  const seconds = Number.parseFloat(response.headers.get("Retry-After") ?? "");
  const wait = Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const given = (typeof body === "object" && body !== null ? body : {}) as Partial<Problem>;
  const title = typeof given.title === "string" ? given.title : response.statusText || "error";
  const detail = typeof given.detail === "string" ? given.detail : text.slice(0, LONGEST_TEXT);
  return new SagerProblem(response.status, { type: "about:blank", status: response.status, ...given, title, detail }, wait);
}

function withContext(error: unknown, what: string, signal: AbortSignal | undefined): unknown {
  if (error instanceof SagerProblem || signal?.aborted) return error;
  const timeout = error instanceof Error && error.name === "TimeoutError";
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
  return new Unreachable(`${what}: ${timeout ? "no answer in time" : cause}`, { cause: error });
}

/** Ends what takes too long; what it gives forgets the limit. */
function limited(controller: AbortController, ms: number): () => void {
  const timer = setTimeout(() => controller.abort(new DOMException("no answer in time", "TimeoutError")), ms);
  return () => clearTimeout(timer);
}
