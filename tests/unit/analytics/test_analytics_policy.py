"""`sager policy` and `sager sql` on a snapshot: skills, versions and reasons; answers, and a message for a mistake."""

import csv
import io
import json
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from operators.history import at_version
from operators.learning.evidence import describe_counts, describe_proof
from schemas import ONE, SkillDiff, Tier
from streams.cli import app
from tests.analytics_world import PRICES, build, published

USER, DOMAIN = "person-003", "books"


@pytest.fixture
def ask(monkeypatch):
    monkeypatch.setenv("SAGER_DUCKDB", str(published()))
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, ["policy", *words])


@pytest.fixture
def told(ask):
    def told(*words: str) -> Any:
        done = ask(*words, "--json")
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    return told


def log() -> list[SkillDiff]:
    return [diff for diff in build().diffs if (diff.user_id, diff.domain) == (USER, DOMAIN)]


def test_a_skill_is_shown_as_a_document_that_agents_load(ask):
    _, front, body = ask("show", USER, "--skill").stdout.split("---\n")

    assert yaml.safe_load(front)["metadata"]["version"] == len(log())
    assert body.lstrip().startswith(f"# How {USER} decides: {DOMAIN}\n")


@pytest.mark.parametrize("version", [0, 1, 7])
def test_a_version_is_shown_as_the_log_folds_to_it(told, version):
    [skill] = told("show", USER, "--version", str(version))

    counted = {line["attribute_id"]: line.pop("counted") for line in skill["attributes"]}
    assert not any(line.pop("unwanted") for line in skill["attributes"])
    for line in skill["attributes"]:
        counts = [describe_counts(line["taken"], line["expected"])] if line["taken"] or line["expected"] else []
        proof = [describe_proof(line.get("proof", 0))] if line.get("proof", 0) >= ONE else []
        assert counted[line["attribute_id"]] == "; ".join(counts + proof)
    assert skill["attributes"] == at_version(log(), version).model_dump(mode="json")["attributes"]


def test_a_skill_is_shown_as_it_was_in_force_at_a_moment(told, ask):
    third, fourth = log()[2:4]
    assert third.occurred_at < fourth.occurred_at

    assert told("show", USER, "--at", f"{third.occurred_at:%Y-%m-%dT%H:%M:%S}")[0]["version"] == 3
    before = ask("show", USER, "--at", "2025-01-01")
    assert (before.exit_code, before.stdout) == (1, "")
    assert "had no skill at 2025-01-01" in before.stderr
    assert ask("show", USER, "--at", "2026-02-01", "--version", "3").exit_code == 2


def test_the_log_shows_the_cost_and_actor_of_each_version(told, ask):
    of_llm = next(diff.user_id for diff in build().diffs if diff.reasoned_by.prompt_tokens)

    diffs = [*told("log", of_llm), *told("log", USER)]

    paid = [diff for diff in diffs if diff["reasoned_by"]["prompt_tokens"]]
    assert paid
    for diff in paid:
        tokens = (diff["reasoned_by"]["prompt_tokens"], diff["reasoned_by"]["completion_tokens"])
        assert diff["cost_dollars"] == pytest.approx(sum(n * p for n, p in zip(tokens, PRICES, strict=True)) / 1e6)
    assert {bool(diff["actor"]) for diff in diffs if not diff["is_contrast"]} == {True}
    assert not any(diff["actor"] for diff in diffs if diff["is_contrast"])
    table = ask("log", paid[0]["user_id"], "--last", "0").stdout
    assert f"${paid[0]['cost_dollars']:.6f}" in table
    assert f"#{paid[0]['reasoned_by']['prompt_hash'][:8]}" in table


def test_a_line_is_explained_by_each_event_that_touched_it_and_the_ranking_it_was_chosen_from(told, ask):
    line = next(
        line.attribute_id
        for line in log()[0].seed
        if any(c.kind.value == "pinned" and c.attribute_id == line.attribute_id for d in log() for c in d.changes)
    )

    found = told("explain", USER, line, "--domain", DOMAIN)

    seeded, *steps = found["steps"]
    assert (seeded["kind"], seeded["interactions_before"]) == ("seeded", 10)
    rankings = {ranking.ranking_id: ranking for ranking in build().rankings if ranking.user_id == USER}
    assert [step["actor"] for step in steps if step["kind"] == "pinned"] == ["support"]
    for step in (step for step in steps if step["kind"] != "pinned"):
        ranking = rankings[step["ranking"]["ranking_id"]]
        assert step["ranking"]["shown"] == [candidate.item_id for candidate in ranking.candidates]
        assert step["ranking"]["shown"][step["ranking"]["place"] - 1] == step["item_id"]
        assert step["title"]
    assert Tier.parse(steps[-1]["tier_after"]) == Tier.parse(found["now"]["tier"])
    title = next(step["title"] for step in reversed(steps) if step["kind"] != "pinned")
    assert title in ask("explain", USER, line, "--domain", DOMAIN).stdout.replace("\n", " ")
    unknown = ask("explain", USER, line[:-1], "--domain", DOMAIN)
    assert (unknown.exit_code, line in unknown.stderr) == (1, True)


def test_log_and_explanation_show_the_reasons_of_a_model(told, ask):
    diff = next(d for d in build().diffs if {str(said.verdict) for said in d.judged} >= {"supports", "unrelated"})
    held = next(said for said in diff.judged if str(said.verdict) == "unrelated")
    moved = next(said for said in diff.judged if str(said.verdict) == "supports")

    [logged] = [d for d in told("log", diff.user_id, "--domain", diff.domain) if d["version"] == diff.version]
    text = ask("log", diff.user_id, "--domain", diff.domain, "--last", "0").stdout
    quiet, loud = (
        next(
            step
            for step in told("explain", diff.user_id, said.attribute_id, "--domain", diff.domain)["steps"]
            if step["version"] == diff.version and step["kind"] != "seeded"
        )
        for said in (held, moved)
    )

    assert (logged["analysis"], len(logged["judged"])) == (diff.analysis, len(diff.judged))
    assert diff.analysis in text
    assert f"the model: supports, by {moved.quoted.dimension}: {moved.quoted.value}" in text
    assert f"? {held.attribute_id} unrelated" in " ".join(text.split())
    assert (quiet["kind"], quiet["verdict"], quiet["analysis"]) == ("judged", "unrelated", diff.analysis)
    assert "A model judged that the choice has nothing to do with this." in quiet["sentence"]
    assert (loud["verdict"], loud["quoted"]) == ("supports", moved.quoted.value)
    assert f"speaks for this, because of “{moved.quoted.value}”." in loud["sentence"]
    assert diff.analysis in loud["sentence"]


@pytest.fixture
def sql(monkeypatch):
    monkeypatch.setenv("SAGER_DUCKDB", str(published()))
    return lambda *words, stdin=None: CliRunner().invoke(app, ["sql", *words], input=stdin)


QUESTION = "SELECT domain, count(*) AS users FROM skills GROUP BY ALL ORDER BY ALL"


def test_people_get_a_table(sql):
    lines = [line.split() for line in sql(QUESTION).stdout.splitlines() if line.strip()]
    assert lines[0] == ["domain", "users"]
    assert lines[2:] == [["books", "14"], ["films", "14"]]


def test_programs_get_json_or_csv(sql):
    assert json.loads(sql(QUESTION, "--json").stdout) == [
        {"domain": "books", "users": 14},
        {"domain": "films", "users": 14},
    ]
    assert list(csv.reader(io.StringIO(sql(QUESTION, "--csv").stdout))) == [
        ["domain", "users"],
        ["books", "14"],
        ["films", "14"],
    ]


@pytest.mark.parametrize("how", [[], ["--json"]], ids=["table", "json"])
def test_control_characters_of_apps_do_not_reach_a_terminal(sql, how):
    for shown in (sql("SELECT chr(27) || '[2J' || chr(155) || '2J' AS title", *how).stdout,
                  sql("SELECT CAST(chr(27) || '[2J' AS INT)", *how).stderr):  # fmt: skip
        assert not any(character in shown for character in "\x1b\x9b")


def test_the_list_has_all_tables_views_and_macros(sql):
    told = sql("--list", "--json").stdout
    names = {row["name"]: row for row in json.loads(told)}
    assert names["policy_at(person, moment)"]["kind"] == "macro"
    assert names["learning_curve"]["kind"] == "view"
    assert names["outcomes"]["kind"] == "table"
    assert all(row["comment"] for row in names.values())


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("FROM outcomez", 'Did you mean "outcomes"'),
        ("SELEC 1", "syntax error"),
        ("DELETE FROM skills", "read-only"),
        ("COPY skills TO 'skills.csv'", "duckdb -readonly"),
        ("FROM read_text('/etc/hostname')", "disabled by configuration"),
        ("SET memory_limit = '100GB'", "configuration has been locked"),
        ("  ", "the query is empty"),
    ],
)
def test_a_mistake_gives_one_error_message(sql, tmp_path, monkeypatch, query, told):
    monkeypatch.chdir(tmp_path)
    result = sql(query)
    assert result.exit_code == 1
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_question_without_end_is_stopped(sql):
    result = sql(
        "SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE a.range % 7 = b.range % 3", "--seconds", "0.3"
    )
    assert result.exit_code == 1
    assert "--seconds" in result.stderr
