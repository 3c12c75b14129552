// Against a running `sager up`: SAGER_URL and SAGER_TOKEN say where. tests/e2e/test_e2e_examples.py runs it.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Sager, SagerProblem, questionOf } from "sager-client";

const url = process.env.SAGER_URL ?? "http://localhost:8088";
const token = process.env.SAGER_TOKEN ?? "";
const PATIENCE_MS = 120_000;
const films = ["Comedy", "Drama", "Horror", "Western"].flatMap((genre) =>
  [1, 2].map((n) => ({
    item_id: `${genre.toLowerCase()}-${n}`,
    title: `${genre} ${n}`,
    metadata: { genres: [genre], year: 1990 + n },
  })),
);

/** @template T @param {() => Promise<T | undefined | null | false>} ask @param {string} what @returns {Promise<T>} */
async function until(ask, what) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const found = await ask();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`not in time: ${what}`);
}

/** @type {(() => void)[]} */
const closing = [];
// A stream that is open would keep this process for ever, whatever has failed.
after(() => closing.forEach((close) => close()));

test("what is taken is learned, followed, explained, corrected and forgotten", { timeout: 4 * PATIENCE_MS }, async () => {
  let lost = 0;
  const sager = new Sager({
    url,
    token,
    // The first answer to each batch is lost on its way: all of it is sent twice.
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (String(input).endsWith("/v1/events") && (lost += 1) % 2) throw new TypeError("the answer was lost");
      return response;
    },
  });
  const user = `tess/ü ${process.pid}`;
  const copy = await sager.slims.copy();
  const ends = new AbortController();
  closing.push(() => copy.close(), () => ends.abort(), () => void sager.close());
  /** @type {import("sager-client").SlimEvent[]} */
  const changes = [];
  const following = (async () => {
    for await (const change of sager.slims.follow({ user, domain: "films", signal: ends.signal })) changes.push(change);
  })();

  for (let n = 0; n < 12; n += 1) {
    const ranking = sager.events.ranking(user, "films", films, { instruction: "something funny" });
    sager.events.selection(ranking, `comedy-${1 + (n % 2)}`);
    await sager.flush();
  }
  assert.equal(lost, 24);
  const slim = await until(async () => {
    const found = await sager.slim(user, "films");
    return found?.text.includes("comedy") && found;
  }, "a slim skill");
  assert.deepEqual(await sager.slim(user, "films"), slim); // by its ETag
  await until(async () => copy.get(user, "films").includes("comedy"), "the copy");
  await until(async () => changes.some((each) => each.kind === "slim" && each.slim.text.includes("comedy")), "the stream");

  const [skill] = await until(async () => {
    const found = await sager.skills(user).catch((error) => {
      if (error instanceof SagerProblem && error.status === 404) return undefined;
      throw error;
    });
    return found?.[0]?.version === 12 && found; // each choice once
  }, "the skill, in the snapshot");
  const line = skill?.attributes.find((each) => each.value === "comedy");
  const why = await sager.explain(user, "films", line?.attribute_id ?? "");
  assert.ok(why.steps.length >= 4);
  assert.ok((await sager.log(user, { domain: "films", last: 2 })).length === 2);

  const ranking = await sager.rank(user, "films", films, { instruction: "for tonight", clarify: true, sessionId: "s1" });
  assert.equal(ranking.candidates.length, films.length);
  assert.match(ranking.candidates[0]?.item_id ?? "", /^comedy/);
  const question = questionOf(ranking);
  if (question) sager.events.answer(ranking, question.options[0]?.value ?? "");
  sager.events.noneOfThese(ranking);
  sager.events.feedback(user, "films", films[2] ?? { item_id: "" }, "liked");
  await sager.flush();

  const understood = await sager.correct(user, "films", { text: "no horror, please", ranking });
  assert.equal(understood.understood, true);
  assert.match(understood.stated[0]?.says ?? "", /avoids horror/);

  const forgetting = await sager.forget(user);
  assert.equal(forgetting.goes.length > 0, true);
  assert.ok(await sager.slim(user, "films"));
  await forgetting.confirm();
  await until(async () => (await sager.slim(user, "films")) === undefined, "being forgotten");
  await until(async () => copy.slim(user, "films") === undefined, "the copy that forgets");
  await until(async () => changes.some((each) => each.kind === "forgotten"), "the stream that tells it");

  ends.abort();
  await following;
  copy.close();
  await sager.close();
});

test("whoever has no token is told so", async () => {
  const sager = new Sager({ url, token: "sager_nobody" });
  await assert.rejects(sager.slim("ann", "films"), (error) => error instanceof SagerProblem && error.status === 401);
  await assert.rejects(async () => {
    for await (const _ of sager.slims.follow()) assert.fail();
  }, SagerProblem);
});
