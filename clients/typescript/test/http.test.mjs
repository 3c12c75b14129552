import assert from "node:assert/strict";
import { test } from "node:test";
import { Sager, SagerProblem, Unreachable } from "sager-client";
import { problem, serve } from "./server.mjs";

const SLIM = { user_id: "ann", domain: "films", skill_version: 1, text: "likes: noir", tokens: 3 };

/** @param {Parameters<typeof serve>[0]} answer @param {(sager: Sager, server: Awaited<ReturnType<typeof serve>>) => Promise<void>} then */
async function given(answer, then) {
  const server = await serve(answer);
  try {
    await then(new Sager({ url: server.url, token: async () => "t" }), server);
  } finally {
    server.close();
  }
}

test("a slim skill that is the same is not sent again", () =>
  given(
    (request) =>
      request.headers["if-none-match"] === '"1"' ? { status: 304 } : { headers: { ETag: '"1"' }, body: SLIM },
    async (sager, server) => {
      const first = await sager.slim("ann", "films", { request: "something dark", sessionId: "s1" });
      const again = await sager.slim("ann", "films", { request: "something dark", sessionId: "s1" });
      await sager.slim("ann", "films");

      assert.deepEqual([first, again], [SLIM, SLIM]);
      assert.deepEqual(
        server.requests.map((each) => [each.url, each.headers["if-none-match"]]),
        [
          ["/v1/users/ann/domains/films/slim?request=something+dark&session_id=s1", undefined],
          ["/v1/users/ann/domains/films/slim?request=something+dark&session_id=s1", '"1"'],
          ["/v1/users/ann/domains/films/slim", undefined],
        ],
      );
    },
  ));

test("nobody known is undefined, and what was held of them is forgotten", () =>
  given(
    (_, count) => (count === 2 ? problem(404, "nothing is known") : { headers: { ETag: '"1"' }, body: SLIM }),
    async (sager, server) => {
      assert.equal((await sager.slim("ann", "films"))?.text, "likes: noir");
      assert.equal(await sager.slim("ann", "films"), undefined);
      await sager.slim("ann", "films");
      assert.equal(server.requests[2]?.headers["if-none-match"], undefined);
    },
  ));

test("ids are part of the path whatever is in them, and dots alone are none", () =>
  given(
    () => ({ body: SLIM }),
    async (sager, server) => {
      await sager.slim("a/../b?c#d é%", "films");
      assert.equal(server.requests[0]?.url, "/v1/users/a%2F..%2Fb%3Fc%23d%20%C3%A9%25/domains/films/slim");
      for (const id of ["", ".", ".."]) await assert.rejects(sager.slim(id, "films"), TypeError);
    },
  ));

test("a problem is an error with all that it says", () =>
  given(
    () => ({ ...problem(422, "some fields are invalid"), body: { type: "about:blank", title: "Unprocessable Content", status: 422, detail: "some fields are invalid", errors: [{ field: "domain", what: "too long" }] } }),
    async (sager, server) => {
      await assert.rejects(sager.slim("ann", "films"), (error) => {
        assert.ok(error instanceof SagerProblem);
        assert.equal(error.message, "422 Unprocessable Content: some fields are invalid (domain: too long)");
        assert.deepEqual(error.errors, [{ field: "domain", what: "too long" }]);
        return true;
      });
      assert.equal(server.requests.length, 1);
    },
  ));

test("a page of a proxy is a problem too", () =>
  given(
    () => ({ status: 418, headers: { "Content-Type": "text/html" }, text: "<h1>no</h1>" }),
    async (sager) => {
      await assert.rejects(sager.slim("ann", "films"), /418 .*<h1>no<\/h1>/);
    },
  ));

test("a read is tried again, and waits as long as it is reported", () =>
  given(
    (_, count) => [null, problem(429, "too many", { "Retry-After": "0" }), { body: SLIM }][count - 1] ?? null,
    async (sager, server) => {
      assert.equal((await sager.slim("ann", "films"))?.text, "likes: noir");
      assert.equal(server.requests.length, 3);
    },
  ));

test("a change of which nobody knows what became is not sent again", () =>
  given(
    () => null,
    async (sager, server) => {
      await assert.rejects(sager.correct("ann", "films", "no horror"), Unreachable);
      assert.equal(server.requests.length, 1);
    },
  ));

test("a ranking is request for again under the same id", () =>
  given(
    (_, count) => (count < 2 ? null : { body: { ranking_id: "r" } }),
    async (sager, server) => {
      await sager.rank("ann", "films", [{ item_id: "a" }], { clarify: true });
      const [first, second] = server.requests.map((each) => each.body);
      assert.deepEqual(first, second);
      assert.match(first.request_id, /^[0-9a-f-]{36}$/);
    },
  ));

test("forgetting has a preview, and nothing goes before it is confirmed", () =>
  given(
    (request) =>
      request.body.confirm
        ? { body: { event_id: "e", carried_out: true } }
        : { body: { known: true, domains: ["films"], goes: [], unread: [] } },
    async (sager, server) => {
      const forgetting = await sager.forget("ann", { domain: "films", line: "preference:genre:crime" });
      assert.equal(server.requests.length, 1);
      assert.equal((await forgetting.confirm()).carried_out, true);
      assert.deepEqual(server.requests[1]?.body, { ...server.requests[0]?.body, confirm: "ann" });
      await sager.forget("ann");
      assert.deepEqual(server.requests[2]?.body, { everything: true });
    },
  ));

test("the signal ends a request, and errors name nobody", async () => {
  const ended = new AbortController();
  ended.abort(new Error("enough"));
  const sager = new Sager({ url: "http://127.0.0.1:9", token: "t", attempts: 1 });
  await assert.rejects(sager.slim("ann", "films", { signal: ended.signal }), /enough/);
  await assert.rejects(sager.explain("ann-secret", "films", "preference:genre:crime"), (error) => {
    assert.doesNotMatch(String(error), /ann-secret|crime/);
    return true;
  });
});

test("the address is an address", () => {
  for (const url of ["ftp://a", "http://u:p@a", "http://a/?x=1", "nowhere"]) {
    assert.throws(() => new Sager({ url, token: "t" }), TypeError);
  }
});

test("an answer and a refusal without an end are given up", async () => {
  for (const status of [200, 400]) {
    let sent = 0;
    let cancelled = false;
    const endless = new ReadableStream({
      pull(controller) {
        sent += 1024 * 1024;
        controller.enqueue(new Uint8Array(1024 * 1024));
      },
      cancel() {
        cancelled = true;
      },
    });
    const sager = new Sager({ url: "http://localhost", token: "t", attempts: 1, fetch: async () => new Response(endless, { status }) });
    await assert.rejects(sager.slim("ann", "films"), status === 200 ? Unreachable : SagerProblem);
    assert.ok(cancelled);
    assert.ok(sent < 80 * 1024 * 1024, `${sent} bytes`);
  }
});
