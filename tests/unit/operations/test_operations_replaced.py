"""Commands that write to a path of one's choice replace what they wrote themselves, and nothing else."""

import json
import os

import pytest
from typer.testing import CliRunner

from schemas import encode
from streams.cli import app
from tests.builders import a_skill

WORK = "years of work"


def test_what_is_no_schema_stays(tmp_path):
    def export():
        return CliRunner().invoke(app, ["schemas", "export", "--out", str(tmp_path)])

    assert [export().exit_code, export().exit_code] == [0, 0]
    for file in tmp_path.iterdir():
        file.unlink()
    for found in (WORK, '{"name": "an app"}', "[]", "\x00\xff"):
        (tmp_path / "asyncapi.json").write_text(found)
        result = export()
        assert (result.exit_code, "asyncapi.json is no schema" in result.stderr) == (1, True), found
        assert ((tmp_path / "asyncapi.json").read_text(), len(list(tmp_path.iterdir()))) == (found, 1)


def a_link(file, theirs):
    file.symlink_to(theirs)


def a_dangling_link(file, theirs):
    file.symlink_to(theirs.with_name("new"))


def a_pipe(file, _):
    os.mkfifo(file)


@pytest.mark.parametrize("made", [a_link, a_dangling_link, a_pipe])
def test_what_is_no_plain_file_is_neither_followed_nor_waited_for(tmp_path, made):
    folder, theirs = tmp_path / "out", tmp_path / "theirs"
    folder.mkdir()
    # What they hold looks like ours.
    theirs.write_bytes(encode(a_skill()))
    made(folder / "asyncapi.json", theirs)
    result = CliRunner().invoke(app, ["schemas", "export", "--out", str(folder)])
    assert (result.exit_code, "asyncapi.json is a link or no plain file" in result.stderr) == (1, True)
    assert (theirs.read_bytes(), (tmp_path / "new").exists()) == (encode(a_skill()), False)


def test_a_second_name_of_a_file_keeps_its_content(tmp_path):
    theirs, folder = tmp_path / "theirs", tmp_path / "out"
    folder.mkdir()
    theirs.write_text('{"$schema": "mine"}')
    os.link(theirs, folder / "asyncapi.json")
    assert CliRunner().invoke(app, ["schemas", "export", "--out", str(folder)]).exit_code == 0
    assert theirs.read_text() == '{"$schema": "mine"}'
    assert "asyncapi" in json.loads((folder / "asyncapi.json").read_text())
    assert not [file for file in folder.iterdir() if file.name.startswith(".")]
