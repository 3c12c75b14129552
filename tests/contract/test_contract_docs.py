"""Documents name settings, metrics, commands, files and links that exist, and show the output of their queries."""

import doctest
import math
import os
import pkgutil
import random
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
import typer
from typer.testing import CliRunner

from infra import reference
from operators.attributes import ranked_lines
from operators.evolve.proposals import COUNTS, Proposal, ValidatedProposal
from operators.learning.choice_model import ListFeatures
from operators.learning.fold import merge
from operators.learning.tradeoffs import personal_weights
from operators.learning.update import resolve_choice
from operators.options import EvolveMode
from operators.weights import RankWeights
from schemas import MAX_FACTS, ONE, Candidate, Fact, ItemFacts
from streams.analytics import schema
from streams.cli import app
from streams.settings import CLIENT_VARIABLES, Settings
from tests.analytics_world import published
from tests.builders import a_contrast, a_skill

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(ROOT / page for page in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(
        page
        for folder in ("docs", "clients")
        for page in (ROOT / folder).rglob("*.md")
        if "node_modules" not in page.parts
    ),
]
DEPLOYMENT = [ROOT / name for name in ("docker-compose.yml", ".env.example", "infra/Dockerfile", "Makefile")]
# The path of the settings file, and the variables that HTTP clients read.
NOT_SETTINGS = {"SAGER_CONFIG", *CLIENT_VARIABLES}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def blocks(file: Path, language: str) -> list[str]:
    return [text for found, text in FENCE.findall(file.read_text(encoding="utf-8")) if found == language]


def prose(file: Path) -> str:
    return FENCE.sub("", file.read_text(encoding="utf-8"))


def table(file: Path, first_column: str) -> Iterator[list[str]]:
    """Yield the rows of each table whose first column has this heading, without backticks."""
    inside = False
    for line in file.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and cells[0].strip(" |") == first_column:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|-"):
            yield cells


# --- settings, metrics and commands


@pytest.mark.parametrize("page", reference.pages(), ids=name)
def test_reference_tables_match_the_code(page: Path) -> None:
    # `python -m infra.reference` writes them.
    text = page.read_text(encoding="utf-8")

    assert text == reference.written(text)


def test_every_reference_table_is_on_a_page() -> None:
    pages = (page.read_text(encoding="utf-8") for page in reference.pages())

    assert {kind for page in pages for kind, _ in reference.TABLE.findall(page)} == set(reference.KINDS)


@pytest.mark.parametrize("file", [*DOCUMENTS, *DEPLOYMENT], ids=name)
def test_documented_variables_are_settings(file: Path) -> None:
    known = {f"SAGER_{setting.upper()}" for setting in Settings.model_fields} | NOT_SETTINGS
    named = set(re.findall(r"SAGER_[A-Z0-9_]*[A-Z0-9]", file.read_text(encoding="utf-8")))

    assert {variable for variable in named if not variable.startswith("SAGER_TEST_")} <= known


def exported() -> dict[str, str]:
    return {reference.name_of(metric): metric._type for _, metric in reference.exported()}


def series() -> set[str]:
    """Return all series names, with those of histograms."""
    histograms = [name for name, kind in exported().items() if kind == "histogram"]
    return {*exported(), *(f"{name}_{part}" for name in histograms for part in ("bucket", "count", "sum"))}


@pytest.mark.parametrize("file", DOCUMENTS, ids=name)
def test_documented_metrics_exist(file: Path) -> None:
    named = set(re.findall(r"\bsager_[a-z_]+[a-z]\b", file.read_text(encoding="utf-8")))

    assert named - {"sager_client", "sager_language", "sager_streams"} <= series()


# --- commands


@cache
def commands() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}

    def walk(command: Any, path: str) -> None:
        found[path] = {option for parameter in command.params for option in parameter.opts}
        found[path] |= {"--help", "-h"}
        for verb, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{path} {verb}")

    walk(typer.main.get_command(app), "sager")
    return found


def called(line: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the `sager` command in a line with its options."""
    words = shlex.split(line.removeprefix("$ "), comments=True)
    start = next((n for n, word in enumerate(words) if word.rpartition("/")[2] == "sager"), None)
    if start is None or not all("=" in word for word in words[:start]):
        return
    known, path = commands(), "sager"
    rest = words[start + 1 :]
    while rest and f"{path} {rest[0]}" in known:
        path += f" {rest.pop(0)}"
    yield path, [word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"]
    if path in ("sager", "sager policy", "sager schemas") and rest and not rest[0].startswith("-"):
        yield f"{path} {rest[0]}", []


def lines_with_commands(file: Path) -> Iterator[str]:
    for block in blocks(file, "console"):
        yield from (line for line in block.splitlines() if "sager" in line)
    yield from re.findall(r"`((?:SAGER_\w+=\S+ )*sager(?: [^`]+)?)`", prose(file))


@pytest.mark.parametrize("file", DOCUMENTS, ids=name)
def test_documented_commands_and_options_exist(file: Path) -> None:
    known = commands()

    wrong = [
        f"{path} {option}"
        for line in lines_with_commands(file)
        for path, options in called(line)
        for option in [*options, None]
        if path not in known or (option is not None and option not in known[path])
    ]

    assert wrong == []


@pytest.mark.parametrize("file", DOCUMENTS, ids=name)
def test_documented_make_targets_exist(file: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    shown = re.findall(r"^\$ make ([a-z-]+)", "\n".join(blocks(file, "console")), re.MULTILINE)

    assert {*shown, *re.findall(r"`make ([a-z-]+)`", prose(file))} <= targets


# --- links and code


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("file", DOCUMENTS, ids=name)
def test_relative_links_resolve(file: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(file)):
        if "://" in link:
            continue
        path, _, section = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        if not target.exists():
            broken.append(link)
        elif section:
            headings = re.findall(r"^#+ (.+)$", prose(target), re.MULTILINE)
            broken += [] if section in map(anchor, headings) else [link]

    assert broken == []


def test_every_linked_function_is_in_its_file() -> None:
    page = ROOT / "docs" / "architecture.md"
    links = re.findall(r"\[`(\w+)`\]\((\S+\.py)\)", page.read_text(encoding="utf-8"))

    assert len(links) > 20
    for function, path in links:
        text = (page.parent / path).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(async def|def|class) {function}\b", text, re.MULTILINE), f"{path}: {function}"


def test_each_part_of_the_paper_has_its_functions() -> None:
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8").partition("## Retrieve")[2]
    rows = [row.split("|")[1:-1] for row in page.splitlines() if row.startswith("|") and "---" not in row]
    parts = [cells for cells in rows if cells[0].strip() != "part"]

    assert len(parts) > 25
    for part, _, functions, mode, _, test in parts:
        assert mode.strip() in {"both", *EvolveMode}, part
        assert list((ROOT / "tests" / "unit").glob(f"*/test_{test.strip(' `')}.py")), test
        names = re.findall(r"`([a-z_]+(?:\.\w+)+)`", functions)
        assert names, part
        for name in names:
            assert callable(pkgutil.resolve_name(name)), name


def test_no_text_installs_an_unpublished_package() -> None:
    # Until a release, packages are installed from a clone: pip install ".[mcp]", ./clients/python.
    files = [*DOCUMENTS, *(path for folder in ("streams", "evaluation") for path in (ROOT / folder).rglob("*.py"))]
    wrong = re.compile(r"(?:pip|npm) install[^\n`]*?[\s'\"]sager-(?:streams|client)\b")

    assert [str(file) for file in files if wrong.search(file.read_text(encoding="utf-8"))] == []


def test_helm_commands_of_the_readme_name_existing_files() -> None:
    commands = re.findall(r"`(helm [^`]+)`", (ROOT / "README.md").read_text(encoding="utf-8"))

    assert commands
    for command in commands:
        words = shlex.split(command)
        assert "-f" in words, f"{command}: the chart has values without a default"
        assert (ROOT / words[words.index("-f") + 1]).is_file()
        assert (ROOT / next(word for word in words if word.startswith("infra/helm/"))).is_dir()


def test_the_parser_template_reads_an_item() -> None:
    template = next(block for block in blocks(ROOT / "docs" / "learning.md", "python") if "def parse" in block)
    scope: dict[str, Any] = {}
    exec(template, scope)
    recipe = Candidate(
        item_id="r1", metadata={"cuisine": "Thai", "diet": ["vegan"], "main": "tofu|basil", "minutes": 20, "x": None}
    )

    assert scope["parse"](recipe) == (
        Fact(dimension="cuisine", value="thai"),
        Fact(dimension="diet", value="vegan"),
        Fact(dimension="ingredient", value="tofu"),
        Fact(dimension="ingredient", value="basil"),
        Fact(dimension="effort", value="quick"),
    )
    assert len(scope["parse"](Candidate(item_id="r2", metadata={"cuisine": {}, "minutes": "long"}))) <= MAX_FACTS


def test_the_example_test_of_contributing_passes() -> None:
    (example,) = blocks(ROOT / "CONTRIBUTING.md", "python")
    scope: dict[str, Any] = {}
    exec(example, scope)

    tests = [value for key, value in scope.items() if key.startswith("test_")]
    assert len(tests) == 1
    tests[0]()


def test_the_navigation_lists_every_page_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", navigation, re.MULTILINE)
    from_the_root = {"index.md", "contributing.md", "security.md", "changelog.md"}
    pages = {name(page).removeprefix("docs/") for page in DOCUMENTS if name(page).startswith("docs/")}

    assert sorted(listed) == sorted(pages | from_the_root)


def test_the_test_files_that_documents_name_exist() -> None:
    named = {
        found for page in DOCUMENTS for found in re.findall(r"`(tests/[a-z0-9_/]+(?:\.py)?)`", page.read_text("utf-8"))
    }

    assert len(named) > 30
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


# --- the learning rule: SAGER_TEST_UPDATE_DOCS=1 writes the table of the example

DECIDING = ROOT / "docs" / "deciding.md"
RESULTS = re.compile(r"^(?:\| \d+ (?:\| -?\d\.\d+ ){5}\|\n)+", re.MULTILINE)


def test_the_code_of_the_learning_rule_gives_the_output_below_it() -> None:
    code = doctest.DocTestParser().get_doctest("\n".join(blocks(DECIDING, "python")), {}, name(DECIDING), None, 0)

    assert doctest.DocTestRunner().run(code) == doctest.TestResults(failed=0, attempted=len(code.examples))


def test_the_table_of_the_learning_rule_follows_from_the_operators() -> None:
    usual = {"length": (150.0, 120.0**2 / 12), "price": (60.0, 80.0**2 / 12)}
    domain = RankWeights(numbers={"length": -0.4, "price": -0.4}, usual=usual)
    skill, rng, rows = a_skill(version=0), random.Random(3), []
    for nth in range(1, 17):
        shown = [_train(rng) for _ in range(5)]
        taken = min(shown, key=lambda item: item.measures["price"] + item.measures["length"] / 2)
        features = ListFeatures.of(shown, ranked_lines(skill), weights=domain, sums=skill.numbers)
        left = tuple(item for item in shown if item is not taken)
        order = [*map(shown.index, (taken, *reversed(left)))]
        choice = a_contrast(taken, ranking_id=f"r{nth}", features=features.to_event(order, domain))
        choice = choice.model_copy(update={"unchosen": left})
        skill = merge(skill, resolve_choice(skill, ValidatedProposal(Proposal(reasoned_by=COUNTS)), choice))
        theta = personal_weights(["length", "price"], domain.numbers, skill.numbers)
        proofs = {key: each / ONE for key, each in skill.numbers.proofs.items()}
        ratio = theta["price"] / theta["length"] * math.sqrt(usual["length"][1] / usual["price"][1])
        weights = f"{theta['price']:.2f} | {theta['length']:.2f} | {proofs['price']:.1f} | {proofs['length']:.1f}"
        rows.append(f"| {nth} | {weights} | {ratio:.1f} |")
    north = next(each for each in ranked_lines(skill) if each.attribute_id == "preference:operator:north")
    counts = f"taken {north.taken / ONE:.1f} where {north.expected / ONE:.1f} was expected"

    text = DECIDING.read_text(encoding="utf-8")
    fresh = RESULTS.sub("".join(f"{rows[nth - 1]}\n" for nth in (1, 4, 8, 16)), text)
    fresh = re.sub("taken .* nats", f"{counts}, with a proof of {north.proof / ONE:.1f} nats", fresh)
    if os.environ.get("SAGER_TEST_UPDATE_DOCS"):
        DECIDING.write_text(fresh, encoding="utf-8")
    assert text == fresh


def _train(rng: random.Random) -> ItemFacts:
    numbers = {"price": float(rng.randrange(20, 100)), "length": float(rng.randrange(90, 210))}
    operator = Fact(dimension="operator", value=rng.choice(["north", "coast"]))
    return ItemFacts(item_id=str(rng.random()), facts=(operator,), measures=numbers)


# --- analytics: SAGER_TEST_UPDATE_DOCS=1 writes the outputs

ANALYTICS = ROOT / "docs" / "analytics.md"
QUERY = re.compile(r"^```sql\n(?P<query>.*?)^```\n```text\n(?P<output>.*?)^```$", re.MULTILINE | re.DOTALL)


def query_output(query: str) -> str:
    # Without COLUMNS the output is that of a pipe; parallel test runs set it.
    result = CliRunner(env={"SAGER_DUCKDB": str(published()), "COLUMNS": None}).invoke(app, ["sql", query])
    assert result.exit_code == 0, f"{query}: {result.stderr}"
    return "\n".join(line.rstrip() for line in result.stdout.strip("\n").splitlines() if line.strip()) + "\n"


def test_queries_give_the_output_below_them() -> None:
    text = ANALYTICS.read_text(encoding="utf-8")
    fresh = QUERY.sub(lambda m: f"```sql\n{m['query']}```\n```text\n{query_output(m['query'])}```", text)
    if os.environ.get("SAGER_TEST_UPDATE_DOCS"):
        ANALYTICS.write_text(fresh, encoding="utf-8")

    assert len(QUERY.findall(text)) == text.count("```sql\n")
    assert text == fresh


def test_every_table_view_and_macro_is_documented() -> None:
    text = ANALYTICS.read_text(encoding="utf-8")
    names = [each.name for file in ("schema", "queries") for each in schema.statements(file)]

    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_every_column_has_a_comment() -> None:
    with duckdb.connect(published(), read_only=True) as con:
        query = "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal"
        found = con.execute(query).fetchall()
    columns = {(table, column) for table, column, _ in found}
    shared, exceptions = schema.column_comments()

    assert sorted(f"{table}.{column}" for table, column, comment in found if not comment) == []
    assert sorted(exceptions.keys() - columns) == []
    assert sorted(shared.keys() - {column for _, column in columns}) == []


# --- text that must not be there

LOCAL = ("/wo" + "rk/", "/ro" + "ot/", "/tmp" + "/w/", "pypi.org" + "/simple", "files.python" + "hosted.org")


def test_no_file_names_a_local_path_or_a_package_host() -> None:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git repository")
    tracked = [path for part in listed.stdout.decode().split("\0") if part and (path := ROOT / part).is_file()]
    found = [
        f"{name(file)}: {needle}"
        for file in tracked
        for text in [file.read_text(encoding="utf-8", errors="replace")]
        for needle in LOCAL
        if needle in text
    ]

    assert found == []
