import assert from "node:assert/strict";
import { test } from "node:test";
import { Closed, NotDelivered, NotShown, Sager } from "sager-client";
import { problem, serve, taken } from "./server.mjs";

const shown = [{ item_id: "a" }, { item_id: "b" }];

/** @param {import("./server.mjs").ReceivedRequest[]} request */
function ids(request) {
  return request.map((each) => each.body.events.map((/** @type {any} */ one) => one.event.event_id));
}

/** @param {Parameters<typeof serve>[0]} answer @param {(sager: Sager, server: Awaited<ReturnType<typeof serve>>) => Promise<void>} then */
async function given(answer, then, queue = {}) {
  const server = await serve(answer);
  try {
    await then(new Sager({ url: server.url, token: "t", queue }), server);
  } finally {
    server.close();
  }
}

test("what is reported at once goes in one request, in order, with the token", () =>
  given(taken, async (sager, server) => {
    const ranking = sager.events.ranking("ann", "films", shown, { instruction: "calm" });
    sager.events.selection(ranking, "b", { others: ["a"] });
    sager.events.feedback("ann", "films", { item_id: "a" }, "rated", { value: 4 });
    sager.events.correct("ann", "films", "no horror");
    await sager.flush();

    assert.equal(server.requests.length, 1);
    const [request] = server.requests;
    assert.equal(request?.headers.authorization, "Bearer t");
    const sent = request?.body.events;
    assert.deepEqual(sent.map((/** @type {any} */ each) => each.topic), ["rankings", "selections", "feedback", "corrections"]);
    assert.equal(sent[1].event.ranking_id, ranking.ranking_id);
    assert.deepEqual([sent[1].event.item_id, sent[1].event.others], ["b", ["a"]]);
    assert.match(sent[0].event.occurred_at, /^\d{4}-.*Z$/);
    assert.equal(sager.events.pending, 0);
  }));

test("what got no answer is sent again with the same ids", () =>
  given(
    (request, count) => [null, problem(503, "away", { "Retry-After": "0" }), taken(request)][count - 1] ?? null,
    async (sager, server) => {
      sager.events.ranking("ann", "films", shown);
      sager.events.ranking("ann", "films", shown);
      await sager.flush();

      const [first, second, third] = ids(server.requests);
      assert.equal(first.length, 2);
      assert.deepEqual(second, first);
      assert.deepEqual(third, first);
    },
  ));

test("an event is sent as it was when it was reported", () =>
  given(taken, async (sager, server) => {
    const event = sager.events.interaction("ann", "films", { item_id: "a" });
    event.user_id = "bob";
    await sager.flush();

    assert.equal(server.requests[0]?.body.events[0].event.user_id, "ann");
  }));

test("a refused event is reported with its cause, and the others are taken", async () => {
  /** @type {import("sager-client").Undelivered[]} */
  const reported = [];
  await given(
    (request) => {
      const answer = taken(request);
      answer.body.results[0] = {
        ...answer.body.results[0],
        status: "refused",
        errors: [{ field: "item_id", what: "Field required" }],
      };
      return answer;
    },
    async (sager) => {
      const refused = sager.events.interaction("ann", "films", { item_id: "a" });
      sager.events.interaction("ann", "films", { item_id: "b" });
      await assert.rejects(sager.flush(), (error) => {
        assert.ok(error instanceof NotDelivered);
        assert.match(error.message, /1 event given up: item_id: Field required/);
        return true;
      });
      assert.deepEqual(reported.map((each) => each.event.event_id), [refused.event_id]);
      await sager.flush(); // reported once
    },
    { onError: (/** @type {import("sager-client").Undelivered} */ each) => void reported.push(each) },
  );
});

test("a token that may not send gives up at once", () =>
  given(
    () => problem(403, "this token lacks the scope produce"),
    async (sager, server) => {
      sager.events.interaction("ann", "films", { item_id: "a" });
      await assert.rejects(sager.flush(), /lacks the scope produce/);
      assert.equal(server.requests.length, 1);
    },
  ));

test("a proxy that takes less gets less", () =>
  given(
    (request) => (request.body.events.length > 2 ? problem(413, "too large") : taken(request)),
    async (sager, server) => {
      const sent = Array.from({ length: 7 }, (_, n) => sager.events.interaction("ann", "films", { item_id: `i${n}` }));
      await sager.flush();

      const arrived = ids(server.requests).filter((each) => each.length <= 2).flat();
      assert.deepEqual(arrived, sent.map((each) => each.event_id));
    },
  ));

test("many events go in several requests, none over 500 events", () =>
  given(taken, async (sager, server) => {
    for (let n = 0; n < 1_200; n += 1) sager.events.interaction("ann", "films", { item_id: `i${n}` });
    await sager.flush();

    const sizes = ids(server.requests).map((each) => each.length);
    assert.ok(Math.max(...sizes) <= 500);
    assert.equal(new Set(ids(server.requests).flat()).size, 1_200);
  }));

test("a full queue says so, and room is made", () =>
  given(
    taken,
    async (sager) => {
      sager.events.interaction("ann", "films", { item_id: "a" });
      sager.events.interaction("ann", "films", { item_id: "b" });
      assert.throws(() => sager.events.interaction("ann", "films", { item_id: "c" }), NotDelivered);
      await sager.events.room();
      sager.events.interaction("ann", "films", { item_id: "c" });
      await sager.flush();
    },
    { maxEvents: 2 },
  ));

test("nobody there: flush says why in time, and close gives up what is left", async () => {
  /** @type {string[]} */
  const causes = [];
  const onError = (/** @type {import("sager-client").Undelivered} */ each) => void causes.push(each.cause);
  const sager = new Sager({ url: "http://127.0.0.1:9", token: "t", queue: { onError } });
  sager.events.interaction("ann", "films", { item_id: "a" });
  await assert.rejects(sager.flush(300), /1 event not delivered within 0.3 s: POST \/v1\/events/);
  await assert.rejects(sager.close(50), NotDelivered);
  assert.equal(causes.length, 1);
  assert.throws(() => sager.events.interaction("ann", "films", { item_id: "a" }), Closed);
});

test("after a while an event is given up", () =>
  given(
    () => null,
    async (sager) => {
      sager.events.interaction("ann", "films", { item_id: "a" });
      await assert.rejects(sager.flush(20_000), /1 event given up/);
    },
    { giveUpMs: 1 },
  ));

test("only what was shown can be taken", () =>
  given(taken, async (sager) => {
    const ranking = sager.events.ranking("ann", "films", shown);
    assert.throws(() => sager.events.selection(ranking, "c"), NotShown);
    assert.throws(() => sager.events.correct("ann", "films", { ranking, itemId: "c" }), /was not shown/);
    sager.events.selection({ user_id: "ann", ranking_id: "r-17" }, "c"); // in another web request
    await sager.flush();
  }));
