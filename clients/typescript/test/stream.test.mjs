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
  for await (const each of serverSent(stream(parts))) found.push([each.event, each.data]);
  return found;
}

test("events are read as the standard has them, wherever the bytes are cut", async () => {
  const text = ":beat\n\nid: 1\r\nevent: slim\r\ndata: {\"a\":\r\ndata:1}\r\n\r\ndata: é\n\ndata\r\rdata: without an end";
  const expected = [
    ["slim", '{"a":\n1}'],
    ["message", "é"],
    ["message", ""],
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
  for await (const each of serverSent(cut)) found.push([each.event, each.data]);
  assert.deepEqual(found, expected);
});

const SLIM = '{"user_id":"ann","domain":"films","text":"likes: noir"}';

/** @param {string[]} events */
const connection = (...events) => ({ headers: { "Content-Type": "text/event-stream" }, text: `retry: 1\n${events.join("")}` });
const RESET = "event: reset\ndata: {}\n\n";
const READY = "event: ready\ndata: {}\n\n";
const FORGOTTEN = 'event: forgotten\ndata: {"user_id":"ann","domain":"films"}\n\n';

test("a stream that broke off begins again", async () => {
  const first = connection(RESET, `event: slim\ndata: ${SLIM}\n\n`, READY);
  const second = connection(RESET, READY, FORGOTTEN);
  const server = await serve((_, count) => (count === 1 ? first : count === 2 ? second : problem(403, "gone")));
  const sager = new Sager({ url: server.url, token: "t" });
  /** @type {string[]} */
  const found = [];
  await assert.rejects(async () => {
    for await (const change of sager.slims.follow()) found.push(change.kind);
  }, /403/);
  assert.deepEqual(found, ["reset", "slim", "ready", "reset", "ready", "forgotten"]);
  server.close();
});

test("a copy drops what a new connection does not name, once it has everything", async () => {
  const bob = SLIM.replace("ann", "bob");
  const all = connection(RESET, `event: slim\ndata: ${SLIM}\n\n`, `event: slim\ndata: ${bob}\n\n`, READY);
  const broken = connection(RESET, `event: slim\ndata: ${SLIM}\n\n`);
  const rest = connection(RESET, `event: slim\ndata: ${bob}\n\n`, READY);
  /** @type {(value?: unknown) => void} */
  let toThird = () => undefined;
  const third = new Promise((resolve) => (toThird = resolve));
  const server = await serve((_, count) => {
    if (count === 3) toThird();
    return count === 1 ? all : count === 2 ? broken : rest;
  });
  const copy = await new Sager({ url: server.url, token: "t" }).slims.copy();
  assert.equal(copy.size, 2);
  await third;
  assert.equal(copy.size, 2, "the broken connection took nothing away");
  while (copy.size === 2) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual([copy.get("ann", "films"), copy.get("bob", "films")], ["", "likes: noir"]);
  copy.close();
  server.close();
});

test("a copy follows what a new connection sends before its end", async () => {
  const bob = SLIM.replace("ann", "bob");
  const all = connection(RESET, `event: slim\ndata: ${SLIM}\n\n`, `event: slim\ndata: ${bob}\n\n`, READY);
  const unfinished = connection(RESET, `event: slim\ndata: ${bob.replace("noir", "farce")}\n\n`, FORGOTTEN);
  const server = await serve((_, count) => (count === 1 ? all : unfinished));
  const copy = await new Sager({ url: server.url, token: "t" }).slims.copy();
  for (let tries = 0; copy.size > 1 && tries < 200; tries++) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual([copy.get("ann", "films"), copy.get("bob", "films")], ["", "likes: farce"]);
  copy.close();
  server.close();
});

test("leaving the loop and the signal both end the connection", async () => {
  const server = await serve(() => ({
    headers: { "Content-Type": "text/event-stream" },
    text: `event: slim\ndata: ${SLIM}\n\n${READY}`,
  }));
  const sager = new Sager({ url: server.url, token: "t" });
  for await (const change of sager.slims.follow({ user: "ann", domain: "films" })) {
    assert.equal(change.kind, "slim");
    break;
  }
  assert.equal(server.requests[0]?.url, "/v1/users/ann/domains/films/slim/stream");
  const ends = new AbortController();
  for await (const change of sager.slims.follow({ signal: ends.signal })) if (change.kind === "ready") ends.abort();
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
  for await (const event of serverSent(body, ends.signal)) {
    reported.push(event.data);
    setTimeout(() => ends.abort(), 10);
  }
  assert.deepEqual(reported, ["1"]);
  assert.equal(cancelled, true);
});
