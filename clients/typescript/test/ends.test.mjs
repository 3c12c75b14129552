// Streams end with their signal, also where the engine has collected what came with them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serverSent } from "../dist/sse.js";

test("a body that says nothing more is left at once, and cancelled", async () => {
  let cancelled = false;
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
    cancel: () => {
      cancelled = true;
    },
  });
  const ends = new AbortController();
  const told = [];
  for await (const event of serverSent(body, "", ends.signal)) {
    told.push(event.data);
    setTimeout(() => ends.abort(), 10);
  }
  assert.deepEqual(told, ["1"]);
  assert.equal(cancelled, true);
});
