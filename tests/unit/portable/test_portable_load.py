"""A folder from outside: either every line of it is what it says, or it is refused with the place."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from schemas import Model, SkillDiff
from streams.cli import app
from streams.rights import preview
from streams.rights.holdings import Holdings
from streams.rights.portable import Manifest, NotPortable, load
from streams.rights.portable.archive import TopicFile, digest_of
from streams.settings import Settings
from tests.builders import DOMAIN, NOW, USER, a_skill, an_attribute, an_interaction

SKILL = a_skill(an_attribute())


def a_line(event: Model) -> bytes:
    return json.dumps({"partition": 0, "offset": 1, "value": event.model_dump(mode="json")}).encode() + b"\n"


def a_folder(folder: Path, **files: bytes) -> Path:
    """An export with these files, whose manifest is right about them."""
    (folder / "topics").mkdir(parents=True, exist_ok=True)
    topics = {}
    for name, content in {"skills": a_line(SKILL), **files}.items():
        file = folder / "topics" / f"{name}.jsonl"
        file.write_bytes(content)
        topics[name] = TopicFile(records=content.count(b"\n"), sha256=digest_of(file))
    manifest = Manifest(user_id=USER, prefix="sager.", exported_at=NOW, topics=topics)
    (folder / "manifest.json").write_text(manifest.model_dump_json())
    return folder


def told(folder: Path, **changes: Any) -> None:
    """Let the manifest say something else."""
    said = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**said, **changes}))


def test_an_export_as_it_was_made_is_taken(tmp_path: Path) -> None:
    bundle = load(a_folder(tmp_path, interactions=a_line(an_interaction()) * 2))

    assert bundle.skills == {DOMAIN: SKILL}
    assert bundle.manifest.user_id == USER


def test_a_preview_counts_the_interactions_that_the_import_sends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = a_line(an_interaction(domain="films")) * 2
    unreadable = b'{"partition": 0, "offset": 2, "unreadable": "eA=="}\n'
    bundle = load(a_folder(tmp_path, interactions=a_line(an_interaction()) + others + unreadable))
    monkeypatch.setattr(preview, "skills", lambda _, user: Holdings(user))

    def counted(domain: str | None) -> int:
        return preview.comes(Settings(), bundle, USER, NOW, domain=domain, interactions=True).interactions

    assert (counted(DOMAIN), counted(None)) == (1, 3)


def not_there(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def no_json(folder: Path) -> None:
    (folder / "manifest.json").write_text("{")


def too_large(folder: Path) -> None:
    (folder / "manifest.json").write_text(" " * 2_000_000)


def of_another_format(folder: Path) -> None:
    told(folder, format="sager-portable-9")


def a_path_for_a_name(folder: Path) -> None:
    told(folder, topics={"../../etc/passwd": {"records": 1, "sha256": "0" * 64}})


def an_unknown_topic(folder: Path) -> None:
    told(folder, topics={"secrets": {"records": 1, "sha256": "0" * 64}})


def a_file_less(folder: Path) -> None:
    (folder / "topics" / "skills.jsonl").unlink()


def a_pipe_for_a_file(folder: Path) -> None:
    a_file_less(folder)
    os.mkfifo(folder / "topics" / "skills.jsonl")


def one_letter_edited(folder: Path) -> None:
    file = folder / "topics" / "skills.jsonl"
    file.write_bytes(file.read_bytes().replace(b"noir", b"nair"))


def another_count(folder: Path) -> None:
    said = json.loads((folder / "manifest.json").read_text())["topics"]
    told(folder, topics={"skills": {**said["skills"], "records": 2}})


def of_somebody_else(folder: Path) -> None:
    a_folder(folder, skills=a_line(SKILL.model_copy(update={"user_id": "bob"})))


def two_of_one_domain(folder: Path) -> None:
    a_folder(folder, skills=a_line(SKILL) * 2)


def too_many_lines_in_a_skill(folder: Path) -> None:
    a_folder(folder, skills=a_line(SKILL.model_copy(update={"attributes": SKILL.attributes * 65})))


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (not_there, "sager policy export"),
        (no_json, "not a manifest"),
        (too_large, "too large"),
        (of_another_format, "format"),
        (a_path_for_a_name, "topics"),
        (an_unknown_topic, "'secrets'"),
        (a_file_less, "missing"),
        (a_pipe_for_a_file, "missing"),
        (one_letter_edited, "SHA-256"),
        (another_count, "1 records, manifest.json says 2"),
        (of_somebody_else, "line 1: it is not about the person"),
        (two_of_one_domain, "two skills"),
        (too_many_lines_in_a_skill, "line 1: attributes"),
    ],
)
def test_a_folder_that_is_not_as_it_was_exported_is_refused(
    tmp_path: Path, damage: Callable[[Path], None], why: str
) -> None:
    damage(a_folder(tmp_path))

    done = CliRunner().invoke(app, ["policy", "import", str(tmp_path)], env={"SAGER_BOOTSTRAP": "127.0.0.1:1"})

    assert (done.exit_code, done.stdout) == (1, "")
    assert why in done.stderr
    assert "Traceback" not in done.stderr


TRICKS = st.sampled_from([b"[]", b"1", b'"value"', b'{"value": 1}', b'{"value": {}}', b"[" * 9_999, b""])


@given(st.lists(st.one_of(st.binary(max_size=60), TRICKS), min_size=1, max_size=3).map(b"\n".join))
def test_a_line_that_is_no_record_is_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = a_folder(tmp_path_factory.mktemp("x"), **{SkillDiff.TOPIC: content + b"\n"})

    with pytest.raises(NotPortable, match=r"skill-diffs.jsonl, line 1: "):
        load(folder)
