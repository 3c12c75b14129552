"""What the documents promise is there: settings, metrics, commands, files; and nothing of a developer's machine."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from infra import reference
from schemas import MAX_FACTS, Candidate, Fact
from streams.cli import app
from streams.settings import CLIENT_VARIABLES, Settings

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(
        ROOT / page
        for page in (
            "README.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
            "clients/python/README.md",
            "clients/typescript/README.md",
        )
    ),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "node_modules" not in page.parts),
]
DEPLOYMENT = [ROOT / name for name in ("docker-compose.yml", ".env.example", "infra/Dockerfile", "Makefile")]
NOT_SETTINGS = {"SAGER_CONFIG", *CLIENT_VARIABLES}
"""Read by the settings themselves, the file that holds the others; and what clients of the HTTP API read."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def blocks(file: Path, language: str) -> list[str]:
    return [text for found, text in FENCE.findall(file.read_text(encoding="utf-8")) if found == language]


def prose(file: Path) -> str:
    return FENCE.sub("", file.read_text(encoding="utf-8"))


def table(file: Path, first_column: str) -> Iterator[list[str]]:
    """The rows of all tables whose first heading this is, without their backticks."""
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
def test_the_tables_of_a_reference_page_are_those_of_the_code(page: Path) -> None:
    """`python -m infra.reference` writes them."""
    text = page.read_text(encoding="utf-8")

    assert text == reference.written(text)


def test_every_kind_of_reference_has_a_page() -> None:
    found = {
        kind for page in reference.pages() for kind, _ in reference.TABLE.findall(page.read_text(encoding="utf-8"))
    }

    assert found == set(reference.KINDS)


@pytest.mark.parametrize("file", [*DOCUMENTS, *DEPLOYMENT], ids=name)
def test_every_variable_that_is_named_is_a_setting(file: Path) -> None:
    known = {f"SAGER_{setting.upper()}" for setting in Settings.model_fields} | NOT_SETTINGS
    named = set(re.findall(r"SAGER_[A-Z0-9_]*[A-Z0-9]", file.read_text(encoding="utf-8")))

    assert {variable for variable in named if not variable.startswith("SAGER_TEST_")} <= known


# --- metrics


def exported() -> dict[str, str]:
    """Type by the name under which Prometheus finds a metric."""
    return {reference.name_of(metric): metric._type for _, metric in reference.exported()}


def series() -> set[str]:
    """Every name that a query may ask for."""
    of_histograms = {
        f"{name}_{part}"
        for name, kind in exported().items()
        if kind == "histogram"
        for part in ("bucket", "count", "sum")
    }
    return set(exported()) | of_histograms


@pytest.mark.parametrize("file", DOCUMENTS, ids=name)
def test_every_metric_that_is_named_exists(file: Path) -> None:
    named = set(re.findall(r"\bsager_[a-z_]+[a-z]\b", file.read_text(encoding="utf-8")))

    assert named - {"sager_client", "sager_language", "sager_streams"} <= series()


# --- commands


@cache
def commands() -> dict[str, set[str]]:
    """Every command of `sager` with its options."""
    found: dict[str, set[str]] = {}

    def walk(command: Any, path: str) -> None:
        found[path] = {option for parameter in command.params for option in parameter.opts}
        found[path] |= {"--help", "-h"}
        for verb, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{path} {verb}")

    walk(typer.main.get_command(app), "sager")
    return found


def called(line: str) -> Iterator[tuple[str, list[str]]]:
    """The `sager` command in a line, and the options that it is given."""
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
def test_every_command_and_option_that_is_shown_exists(file: Path) -> None:
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
def test_every_make_target_that_is_named_exists(file: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    consoles = "\n".join(blocks(file, "console"))
    named = set(re.findall(r"`make ([a-z-]+)`", prose(file))) | set(
        re.findall(r"^\$ make ([a-z-]+)", consoles, re.MULTILINE)
    )

    assert named <= targets


# --- links and code


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("file", DOCUMENTS, ids=name)
def test_every_relative_link_resolves(file: Path) -> None:
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


CODE_LINK = re.compile(r"\[`(\w+)`\]\((\S+\.py)\)")


def test_every_linked_function_is_in_its_file() -> None:
    page = ROOT / "docs" / "architecture.md"
    links = CODE_LINK.findall(page.read_text(encoding="utf-8"))

    assert len(links) > 20
    assert [
        f"{path}: {function}"
        for function, path in links
        if not re.search(
            rf"^\s*(?:async def|def|class) {function}\b", (page.parent / path).read_text(encoding="utf-8"), re.MULTILINE
        )
    ] == []


def test_no_document_and_no_message_installs_a_package_that_is_not_published() -> None:
    """Until a release, packages are installed from a clone: pip install ".[mcp]", ./clients/python."""
    files = [*DOCUMENTS, *(path for folder in ("streams", "evaluation") for path in (ROOT / folder).rglob("*.py"))]
    wrong = re.compile(r"(?:pip|npm) install[^\n`]*?[\s'\"]sager-(?:streams|client)\b")

    assert [str(file) for file in files if wrong.search(file.read_text(encoding="utf-8"))] == []


def test_the_helm_commands_of_the_readme_name_existing_files_and_required_values() -> None:
    commands = re.findall(r"`(helm [^`]+)`", (ROOT / "README.md").read_text(encoding="utf-8"))

    assert commands
    for command in commands:
        words = shlex.split(command)
        assert "-f" in words, f"{command}: the chart has values without a default"
        assert (ROOT / words[words.index("-f") + 1]).is_file()
        assert (ROOT / next(word for word in words if word.startswith("infra/helm/"))).is_dir()


def test_the_template_of_a_domain_works() -> None:
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


# --- nothing of a machine

MACHINE = ("/wo" + "rk/", "/ro" + "ot/", "/tmp" + "/w/", "pypi.org" + "/simple", "files.python" + "hosted.org")


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git repository")
    return [path for part in listed.stdout.decode().split("\0") if part and (path := ROOT / part).is_file()]


def test_no_file_names_a_machine_or_a_package_host() -> None:
    found = [
        f"{name(file)}:{number}: {needle}"
        for file in tracked()
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        for needle in MACHINE
        if needle in line
    ]

    assert found == []
