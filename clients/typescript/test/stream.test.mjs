import assert from "node:assert/strict";
import { test } from "node:test";
import { Sager } from "sager-client";
import { serverSent } from "../dist/sse.js";
import { problem, serve } from "./server.mjs";

/** @param {string[]} parts */
function stream(parts) {
  const bytes = parts.map((part) => new TextEncoder().encode(part));
  return new ReadableStream({
    pull(controller) {
      const next = bytes.shift();
      if (next) controller.enqueue(next);
      else controller.close();
    },
  });
}

/** @param {string[]} parts */
async function all(...parts) {
  const found = [];
  for await (const each of serverSent(stream(parts))) found.push([each.event, each.data, each.id]);
  return found;
}

test("events are read as the standard has them, wherever the bytes are cut", async () => {
  const text = ":beat\n\nid: 1\r\nevent: slim\r\ndata: {\"a\":\r\ndata:1}\r\n\r\ndata: é\n\ndata\r\rdata: without an end";
  const expected = [
    ["slim", '{"a":\n1}', "1"],
    ["message", "é", "1"],
    ["message", "", "1"],
  ];
  assert.deepEqual(await all(text), expected);
  const bytes = [...new TextEncoder().encode(text)];
  const cut = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  const found = [];
  for await (const each of serverSent(cut)) found.push([each.event, each.data, each.id]);
  assert.deepEqual(found, expected);
});

const SLIM = '{"user_id":"ann","domain":"films","text":"likes: noir"}';

test("a stream goes on where it broke off, and a copy holds what there is", async () => {
  const server = await serve((_, count) => {
    const headers = { "Content-Type": "text/event-stream" };
    const first = `event: slim\ndata: ${SLIM}\n\nid: 7\nevent: position\ndata: {}\n\n`;
    const second = `retry: 1\nevent: forgotten\ndata: {"user_id":"ann","domain":"films"}\n\nid: 8\nevent: position\ndata: {}\n\n`;
    return count === 1 ? { headers, text: first } : count === 2 ? { headers, text: second } : problem(403, "gone");
  });
  const sager = new Sager({ url: server.url, token: "t" });
  /** @type {string[]} */
  const found = [];
  await assert.rejects(async () => {
    for await (const change of sager.slims.follow()) found.push(change.kind === "position" ? change.id : change.kind);
  }, /403/);
  assert.deepEqual(found, ["slim", "7", "forgotten", "8"]);
  assert.deepEqual(server.requests.map((each) => each.headers["last-event-id"]), [undefined, "7", "8"]);
  server.close();
});

test("leaving the loop and the signal both end the connection", async () => {
  const server = await serve(() => ({
    headers: { "Content-Type": "text/event-stream" },
    text: `event: slim\ndata: ${SLIM}\n\nid: 7\nevent: position\ndata: {}\n\n`,
  }));
  const sager = new Sager({ url: server.url, token: "t" });
  for await (const change of sager.slims.follow({ user: "ann", domain: "films" })) {
    assert.equal(change.kind, "slim");
    break;
  }
  assert.equal(server.requests[0]?.url, "/v1/users/ann/domains/films/slim/stream");
  const ends = new AbortController();
  for await (const change of sager.slims.follow({ signal: ends.signal })) if (change.kind === "position") ends.abort();
  const copy = await sager.slims.copy();
  assert.deepEqual([copy.get("ann", "films"), copy.get("bob", "films"), copy.size], ["likes: noir", "", 1]);
  copy.close();
  server.close();
});

test("a stream that waits ends with its signal", async () => {
  const ended = new AbortController();
  const hanging = /** @type {typeof fetch} */ (
    async (_, init) => {
      const body = new ReadableStream({
        start(controller) {
          init?.signal?.addEventListener("abort", () => controller.error(init.signal?.reason));
        },
      });
      return new Response(body);
    }
  );
  const sager = new Sager({ url: "http://127.0.0.1:9", token: "t", fetch: hanging });
  const following = (async () => {
    for await (const _ of sager.slims.follow({ signal: ended.signal })) assert.fail();
  })();
  await new Promise((resolve) => setTimeout(resolve, 20));
  ended.abort();
  await following;
});

test("a pause that the server asks for stays in bounds", async () => {
  const request = [];
  for await (const each of serverSent(stream(["retry: 0\n\nretry: 999999999\n\nretry: 2000\n\n"]))) request.push(each.retryMs);
  assert.deepEqual(request, [100, 60_000, 2_000]);
});


test("a body that says nothing more is left at once, and cancelled", async () => {
  let cancelled = false;
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
    cancel: () => {
      cancelled = true;
    },
  });
  const ends = new AbortController();
  const reported = [];
  for await (const event of serverSent(body, "", ends.signal)) {
    reported.push(event.data);
    setTimeout(() => ends.abort(), 10);
  }
  assert.deepEqual(reported, ["1"]);
  assert.equal(cancelled, true);
});
