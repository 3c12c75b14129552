"""`sager eval report`: what the tables say, and that the page and the links hold together."""

import re
import shlex
from html.parser import HTMLParser

import duckdb
import pytest
import typer
from typer.testing import CliRunner

from evaluation.confidence import compare
from evaluation.confidence import interval as bootstrapped
from evaluation.exceptions import BadResults
from evaluation.kept import Curve, CurvePoint
from evaluation.measures import averages, hit_at, ndcg_at
from evaluation.report import compose, paper, write
from evaluation.report.document import Table
from evaluation.report.markdown import markdown
from evaluation.report.page import page
from evaluation.report.uncertainty import difference, interval
from evaluation.run import Result, Setting
from evaluation.store import Store
from streams.cli import app

CURVE = Curve("yelp", "uniform", 0, "sager-rules", (CurvePoint(0, 9, 0.2, 0.1, 0.3), CurvePoint(8, 7, 0.4, 0.2, 0.6)))


def keep(store, arm, hits, users=10, *, data="yelp", seed=0, **settings):
    """A run in which the first so many users' targets came first, and all others' fourth."""
    places = {f"u{number}": 1 if number < hits else 4 for number in range(users)}
    result = Result(
        arm=arm,
        data=data,
        setting=Setting("uniform", seed),
        places=places,
        measures=averages(list(places.values())),
        ci95_hit_at_1=(0.125, 0.875),
        llm_calls=1200,
        prompt_tokens=34567,
        completion_tokens=89,
        seconds=1.25,
    )
    store.add(result, "f1", {"seed": seed, "tau": 2, "slim_tokens": 30, "concurrency": 16, **settings})


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = Store(tmp_path_factory.mktemp("results") / "quality.duckdb")
    keep(made, "no-skill", 1)
    keep(made, "no-skill", 8, users=20)
    keep(made, "sager-rules", 9)
    keep(made, "sager-rules", 10)
    keep(made, "sager-rules", 5, tau=0)
    keep(made, "sager-rules", 4, slim_tokens=80)
    keep(made, "sager-replace", 6)
    keep(made, "vanilla", 2)
    keep(made, "vanilla+skill", 3)
    keep(made, "vanilla", 4, seed=1)
    made.add_curve(CURVE, {})
    return made


@pytest.fixture(scope="module")
def document(store):
    return compose(store)


def section(document, beginning):
    [found] = [each for each in document.sections if each.title.startswith(beginning)]
    return found


def rows(document, beginning, first_column=None):
    """The rows of a section's tables, as dictionaries by heading."""
    tables = [block for block in section(document, beginning).blocks if isinstance(block, Table)]
    wanted = [table for table in tables if first_column in (None, table.head[0])]
    return [dict(zip(table.head, row, strict=True)) for table in wanted for row in table.rows]


def test_the_main_table_has_measures_costs_and_the_difference_from_the_baseline(document):
    by_arm = {row["arm"]: row for row in rows(document, "Main results: yelp", "arm")}

    assert set(by_arm) == {"no-skill", "sager-rules", "vanilla"}
    rules = by_arm["sager-rules"]
    assert (rules["users"], rules["H@1 [95 %]"], rules["H@5"]) == ("10", "1.0000 [0.125, 0.875]", "1.0000")
    # Of the ten users in common eight were found before: two are better, which chance does every second time.
    assert rules["H@1 less no-skill [95 %]"].startswith("+0.2000 [+0.000, +0.500]")
    assert rules["p"] == "0.500"
    assert [rules[name] for name in ("seconds", "LLM calls", "tokens in", "tokens out")] == [
        *("1.2", "1,200", "34,567", "89")
    ]
    assert (by_arm["no-skill"]["users"], by_arm["no-skill"]["p"]) == ("20", "-")
    assert by_arm["vanilla"]["paper's H@1, other data"] == "0.1692 Vanilla LLM"


def test_a_missing_list_of_candidates_names_the_command_that_fills_it(document):
    assert "`sager eval --data yelp --candidates popular --arm " in markdown(document)


def test_ablations_are_measured_on_the_users_in_common(document):
    wide = {row["configuration"]: row for row in rows(document, "What each part", "configuration")}
    [paired] = [row for row in rows(document, "Incremental", "data") if row["arm"] == "sager-replace"]

    assert wide["without the policy skill"]["yelp H@1 [95 %]"].startswith("0.8000 [")
    assert (paired["change"], paired["paper's change"], paired["users"]) == ("-40.0 %", "-3.1 %", "10")
    assert paired["p"] == "0.125"


def test_ablations_take_from_the_arm_that_is_named(store):
    [paired] = rows(compose(store, full="no-skill"), "Incremental", "data")[:1]

    assert paired["H@1 less the whole [95 %]"].startswith("-0.2000")


def test_hosts_tau_and_budget_have_their_tables(document):
    [host] = rows(document, "Other agents")
    rounds = rows(document, "Warm-up")
    budgets = rows(document, "Length")

    assert (host["host"], host["H@3"], host["H@3 with the skill"], host["change"]) == (
        *("vanilla", "0.2000", "0.3000", "+50.0 %"),
    )
    assert host["paper's host without: H@1, H@3, N@5; other data"] == "Vanilla LLM: 0.1692, 0.5275, 0.4360"
    assert [(row["tau"], row["change"]) for row in rounds] == [("0", "-"), ("2", "+100.0 %")]
    assert [(row["slim tokens"], row["change"]) for row in budgets] == [("30", "+25.0 %"), ("80", "-50.0 %")]


def test_every_command_that_is_told_is_one_of_sager(document):
    command = typer.main.get_group(app).commands["eval"]
    options = {option for parameter in command.params for option in parameter.opts}
    told = re.findall(r"`(sager eval [^`]+)`", markdown(document))

    assert "sager eval --data yelp --arm sager-rules --candidates uniform --users 10 --seed 0 --tau 0" in " ".join(told)
    assert {word for line in told for word in shlex.split(line) if word.startswith("--")} <= options


def test_of_equal_settings_the_newest_is_told_and_seeds_are_set_side_by_side(document):
    every = rows(document, "Every result")
    [seeds] = rows(document, "The same with other seeds")

    assert [row["H@1 [95 %]"][:6] for row in every if row["arm"] == "sager-rules"] == ["0.5000", "1.0000", "0.4000"]
    assert (seeds["arm"], seeds["seeds"], seeds["mean H@1"]) == ("vanilla", "0, 1", "0.3000")


class Links(HTMLParser):
    """What a page refers to, and what it has."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        self.links += [given["href"]] if "href" in given else []
        self.sources += [given["src"]] if "src" in given else []


def test_links_and_pictures_resolve(document):
    names = [picture.name for picture in document.pictures()]
    found = Links(page(document, dict.fromkeys(names, b"png")))

    assert names == ["main-yelp", "hosts-uniform", "tau-uniform", "slim-uniform", "learning-curve"]
    assert re.findall(r"!\[[^\]]*\]\((.+?)\.png\)", markdown(document)) == names
    assert len(found.links) == len(document.sections)
    assert {link.removeprefix("#") for link in found.links} <= found.ids
    assert len(found.sources) == len(names)
    assert all(source.startswith("data:image/png;base64,") for source in found.sources)


def test_a_folder_named_like_markup_stays_text(tmp_path):
    store = Store(tmp_path / "quality.duckdb")
    keep(store, "no-skill", 1, data="a|b<script>")
    document = compose(store)

    cells = [line for line in markdown(document).splitlines() if line.startswith("| a") and "script" in line]

    assert cells
    assert all(line.startswith(r"| a\|b\<script> |") for line in cells)
    assert "<script" not in page(document, dict.fromkeys((p.name for p in document.pictures()), b""))


def test_files_are_written_with_their_pictures(tmp_path):
    store = Store(tmp_path / "quality.duckdb")
    store.add_curve(CURVE, {})

    report, index, picture = write(store, tmp_path / "new" / "out")

    assert (report.name, index.name, picture.name) == ("report.md", "index.html", "learning-curve.png")
    assert "(learning-curve.png)" in report.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "iVBORw0KGgo" in index.read_text()


def report_(*args):
    return CliRunner().invoke(app, ["eval", "report", *map(str, args)])


def test_without_results_the_command_says_how_to_come_by_some(tmp_path):
    missing, empty = tmp_path / "missing.duckdb", tmp_path / "empty.duckdb"
    Store(empty)

    for file, told in ((missing, "there is no"), (empty, "holds no results yet")):
        done = report_("--results", file, "--out", tmp_path / "out")
        assert done.exit_code == 1
        assert told in done.stderr
        assert "sager eval --data DIR --arm NAME" in done.stderr
    assert not missing.exists()
    assert not (tmp_path / "out").exists()


def test_nothing_to_report_is_an_error_of_ours(tmp_path):
    with pytest.raises(BadResults, match="no results yet"):
        compose(Store(tmp_path / "quality.duckdb"))


def test_intervals_and_p_out_of_counts_are_those_of_single_users():
    places = [1, 1, 2, 3, 5, 9, 10, 1, 4, 2] * 6
    others = [1, 2, 2, 1, 5, 1, 10, 3, 4, 1] * 6

    for measure, values in (("hit_at_3", hit_at(3, places)), ("ndcg_at_5", ndcg_at(5, places))):
        assert interval(places, measure) == pytest.approx(bootstrapped(values), abs=0.02)
    found = difference(dict(enumerate(places)), dict(enumerate(others)))
    wanted = compare(hit_at(1, places), hit_at(1, others))
    assert (found.users, found.value, found.p) == (60, pytest.approx(wanted.difference), wanted.p_mcnemar)
    assert (found.low, found.high) == pytest.approx(wanted.ci95, abs=0.02)
    assert difference({"ann": 1, "bob": 1}, {"ann": 1}) is None


def test_the_papers_tables_agree_with_each_other():
    """Tables 4 and 5 repeat figures of Tables 2 and 3 with three digits, cut or rounded."""
    repeated = {
        "Sager": (paper.ABLATION["Sager (Full)"], paper.REPLACEMENT["Incremental CoT"]),
        "MemRec": (paper.ABLATION["w/o Policy Skill"], paper.REPLACEMENT["No Policy Skill (MemRec)"]),
    }
    for model, tables in repeated.items():
        for name, hits in [pair for table in tables for pair in table.items()]:
            printed = paper.MAIN[name][model]
            assert hits == pytest.approx((printed[0], printed[1], printed[3]), abs=0.0011)
    assert {len(figures) for models in paper.MAIN.values() for figures in models.values()} == {5}


def test_a_file_of_before_gets_its_curves_and_the_newest_is_given(tmp_path):
    path = tmp_path / "quality.duckdb"
    Store(path)
    with duckdb.connect(str(path)) as db:
        db.execute("DROP TABLE learning_curve")
    store = Store(path)
    store.add_curve(Curve("yelp", "uniform", 0, "sager-rules", (CurvePoint(0, 9, 0.9, 0.8, 1.0),)), {"tau": 2})
    store.add_curve(CURVE, {"tau": 2})

    assert store.curves() == [CURVE]
    with pytest.raises(ValueError, match="points"):
        store.add_curve(Curve("yelp", "uniform", 0, "sager-rules", ()), {})
