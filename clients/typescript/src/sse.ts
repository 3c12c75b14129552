import { Unreachable } from "./errors.js";

/** One server-sent event. */
export interface ServerSent {
  event: string;
  data: string;
  /** What the server asks for before a new connection, in milliseconds. */
  retryMs: number | undefined;
}

/** Bounds of the pause that a server asks for: without a pause we would flood it, and a pause of days looks like a hang. */
const [SHORTEST_RETRY_MS, LONGEST_RETRY_MS] = [100, 60_000];
const LONGEST = 4 * 1024 * 1024;
const LINE_END = /\r\n|\n|\r/;

/**
 * Reads `text/event-stream` as the HTML standard has it; an event without its empty line at the end counts as none.
 *
 * It ends with the signal, which cancels the body itself: Node forgets the signal of a `fetch` whose `Response` nobody
 * holds any more, and would read on for ever.
 */
export async function* serverSent(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<ServerSent, void> {
  const reader = body.getReader();
  const end = () => void reader.cancel().catch(() => undefined);
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end);
  const decoder = new TextDecoder();
  let [text, size] = ["", 0];
  let [event, data, retryMs] = ["", [] as string[], undefined as number | undefined];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      if (text.length > LONGEST) throw new Unreachable("the stream has a line that never ends");
      for (;;) {
        const stop = LINE_END.exec(text);
        // A carriage return at the very end may be half of a pair.
        if (!stop || (stop[0] === "\r" && stop.index === text.length - 1)) break;
        const line = text.slice(0, stop.index);
        text = text.slice(stop.index + stop[0].length);
        if (line === "") {
          if (data.length || retryMs !== undefined) yield { event: event || "message", data: data.join("\n"), retryMs };
          [event, data, retryMs, size] = ["", [], undefined, 0];
          continue;
        }
        const [, name = "", content = ""] = /^([^:]*)(?:: ?)?([^]*)$/.exec(line) ?? [];
        if (name === "event") event = content;
        else if (name === "data") {
          data.push(content);
          size += content.length;
          if (size > LONGEST) throw new Unreachable("the stream has an event that never ends");
        }
        else if (name === "retry" && /^\d{1,9}$/.test(content)) {
          retryMs = Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, Number(content)));
        }
      }
    }
  } finally {
    signal?.removeEventListener("abort", end);
    // Also where the reader of this generator has gone: that ends the connection.
    await reader.cancel().catch(() => undefined);
  }
}
