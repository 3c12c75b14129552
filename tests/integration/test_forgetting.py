"""Forgotten means forgotten: every store, and the next prompt, are searched for what the person left."""

import re
from pathlib import Path
from typing import Any

import pytest

from operators.graph.items import neighbour_of
from schemas import TOPICS, CardDiff, ItemMemory, PendingConversations, SkillDiff, Tier, encode, subject_digest
from schemas.commands import Action, Receipt, SkillLineInput
from streams.analytics import read
from streams.pseudonyms import secret_of
from streams.rights.verify import verify
from streams.settings import Settings
from tests.builders import slate
from tests.harness import Harness
from tests.openai_server import OpenAiServer, threaded

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

ANN = "ann-of-the-marsh"
SAID = "zyxquill waltzes"
WISHED = "something for a quokka evening"
SECRET = Settings(pseudonym_key="known to this test, and to nobody else")
NAMED = neighbour_of(ANN, secret_of(SECRET))
TALKED = "vexwold marmalade"
WAITS = "I love brindlemoor kites."
TRACES = (ANN, NAMED, "zyxquill", "quokka", "vexwold", "brindlemoor")


def worker(harness: Harness, url: str, **more: Any) -> Any:
    return harness.worker(
        reasoner="llm",
        llm_base_url=url,
        llm_model="test-model",
        support_floor=2,
        pseudonym_key=SECRET.pseudonym_key,
        **more,
    )


def world(harness: Harness, url: str, **more: Any) -> Any:
    running = worker(harness, url, **more)
    harness.materializer()
    for user in (ANN, "bob", "cem"):
        harness.events.interaction(user, "films", slate(1)[0])
        for number in range(1, 4):
            harness.choose(user, number, 2, WISHED if user == ANN else "")
    harness.count(SkillDiff, 9)
    tell(harness)
    harness.count(SkillDiff, 12)
    chat(harness)
    harness.change_skill(ANN, Action.ADD, line=SkillLineInput(dimension="music", value=SAID, tier=Tier.HIGH))
    ranking = harness.events.ranking(ANN, "films", slate(5))
    harness.events.selection(user_id=ANN, ranking_id=ranking.ranking_id, item_id="no such film")
    harness.events.flush()
    harness.until(lambda out: bool(out.dead_letters), "the refused choice")
    harness.until(
        lambda out: any(NAMED.encode() in (v or b"") for v in out.newest(ItemMemory).values()), "items to hear of her"
    )
    return running


def tell(harness: Harness) -> None:
    unwanted = {"stance": "avoids", "dimension": "music", "value": SAID}
    harness.events.correct(ANN, "films", f"no {SAID}, please", directives=[unwanted], session_id="quokka session")
    hidden = {"item_id": "tape", "title": "A Tape", "metadata": {}}
    harness.events.feedback(ANN, "films", hidden, "hidden", session_id="quokka session")
    ranking = harness.events.ranking(ANN, "films", slate(6), instruction=WISHED)
    harness.events.none_of_these(ranking)
    harness.events.flush()


def chat(harness: Harness) -> None:
    harness.events.utterance(ANN, "breakfast", 0, f"I love {TALKED}.", language="en", ends=True)
    harness.events.utterance(ANN, "outdoors", 0, WAITS, language="en")
    harness.events.flush()
    harness.count(CardDiff, 1)
    harness.until(
        lambda out: any(b"brindlemoor" in (v or b"") for v in out.newest(PendingConversations).values()),
        "a turn to wait",
    )


def kept(harness: Harness) -> dict[tuple[str, bytes], bytes]:
    found = {
        (base, message.key()): message.value()
        for base, records in harness.outputs.records.items()
        if TOPICS[base].compact
        for message in records
    }
    return {where: value for where, value in found.items() if value is not None}


def traces(harness: Harness) -> list[str]:
    pattern = re.compile(b"|".join(re.escape(trace.encode()) for trace in TRACES))
    found = [f"{base} {key!r}" for (base, key), value in kept(harness).items() if pattern.search(key + value)]
    folder = harness.settings.data_dir
    # RocksDB's MANIFEST names the first and last key of files that are gone, until the worker starts the next time.
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".log"]
    files = [path for path in files if not path.name.startswith("MANIFEST")]
    found += [str(path.relative_to(folder)) for path in files if pattern.search(bytes_of(path))]
    # DuckDB's statistics keep the first eight bytes of a column's least and greatest value.
    databases = folder.glob("*.duckdb")
    return found + [f"{path.name}'s statistics" for path in databases if ANN[:8].encode() in bytes_of(path)]


def bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # a database's, which it has put together with others meanwhile
        return b""


def test_a_person_leaves_nothing_behind_and_starts_afresh(harness: Harness) -> None:
    """Also where the worker is killed half-way: its successor carries the request out to its end."""
    with threaded(OpenAiServer()) as server:
        running = world(harness, server.base_url, store="rocksdb")
        harness.duckdb("SELECT count(*) FROM skill_diffs", lambda rows: rows == [(13,)])
        found = " ".join(traces(harness))
        for store in ("cards ", "card-diffs ", "conversations ", "skills ", "sager.duckdb"):
            assert store in found, "there is something to forget"
        harness.duckdb("SELECT value FROM card_lines", lambda rows: rows == [(TALKED,)])

        harness.forget(ANN, 0)
        harness.count(Receipt, 1)
        harness.kill(running)
        worker(harness, server.base_url, store="rocksdb")
        harness.until(lambda out: any(r.person and r.person.done for r in out.values(Receipt)), "the receipt")
        receipt = harness.outputs.values(Receipt)[-1]
        assert receipt.person is not None
        assert (receipt.subject, receipt.person.versions) == (subject_digest(ANN), 7)
        harness.duckdb("SELECT count(*) FROM receipts WHERE done", lambda rows: rows == [(1,)])
        harness.until(lambda _: not harness.poll() and not traces(harness), "traces to go")
        with read.connect(harness.settings) as con:
            columns = con.execute("SELECT table_name FROM duckdb_columns() WHERE column_name = 'user_id'").fetchall()
            for (table,) in columns:
                assert con.execute(f"SELECT count(*) FROM {table} WHERE user_id = '{ANN}'").fetchall() == [(0,)], table
        assert b"advocate" in encode(receipt)
        assert not any(trace in encode(receipt).decode() for trace in TRACES)

        # What was under way, or is sent once more, of before: nothing is learned of it.
        before = receipt.person.until
        harness.events.interaction(ANN, "films", slate(1)[0], at=before)
        harness.events.flush()
        asked = len(server.bodies)
        harness.choose(ANN, 7, 2)
        harness.until(
            lambda out: any(d.user_id == ANN and d.event_id for d in out.values(SkillDiff)[13:]), "a new skill"
        )
        new = [d for d in harness.outputs.values(SkillDiff) if d.user_id == ANN and d.occurred_at > before]
        assert [d.version for d in new] == [1], "versions begin anew"
        assert (new[0].seed, new[0].seed_hypotheses) == ((), {}), "nothing is left of what her history gave"
        prompts = "".join(map(str, server.bodies[asked:]))
        assert prompts
        harness.quiet()
        assert verify(harness.settings).findings == [], "a receipt stands for what is gone"
        assert not re.search("zyxquill|quokka|vexwold|brindlemoor", prompts)
