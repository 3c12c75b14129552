"""Commands that write to a path of one's choice replace what they wrote themselves, and nothing else."""

import pytest
from typer.testing import CliRunner

from evaluation import report
from evaluation.exceptions import BadResults
from schemas import encode
from streams.cli import app
from streams.exceptions import NotOurs
from streams.operations.rebuild import run as rebuilding
from tests.builders import a_skill

WORK = "years of work"


@pytest.mark.parametrize("found", [WORK, '{"name": "an app"}', "[]", "\x00\xff"])
def test_what_is_no_file_of_folded_skills_stays(tmp_path, found):
    file = tmp_path / "thesis.jsonl"
    file.write_text(found)
    with pytest.raises(NotOurs, match="--out"):
        rebuilding._check_older(file)
    with pytest.raises(NotOurs, match="--out"):
        rebuilding._check_older(tmp_path)
    file.write_bytes(encode(a_skill()) + b"\n")
    rebuilding._check_older(file)


@pytest.mark.parametrize("found", [WORK, '{"name": "an app"}', "[]", "\x00\xff"])
def test_what_is_no_schema_stays(tmp_path, found):
    def export():
        return CliRunner().invoke(app, ["schemas", "export", "--out", str(tmp_path)])

    assert [export().exit_code, export().exit_code] == [0, 0]
    before = sorted(tmp_path.iterdir())
    (tmp_path / "asyncapi.json").write_text(found)
    for file in before[1:]:
        file.unlink()
    result = export()
    assert (result.exit_code, "asyncapi.json is no schema" in result.stderr) == (1, True)
    assert ((tmp_path / "asyncapi.json").read_text(), len(list(tmp_path.iterdir()))) == (found, 1)


@pytest.mark.parametrize("name", ["report.md", "index.html"])
def test_what_is_no_report_of_ours_stays(tmp_path, name):
    report._check_older(tmp_path, "Quality")
    (tmp_path / "report.md").write_text("# Quality\n")
    (tmp_path / "index.html").write_text("<!doctype html>\n<title>Quality</title>")
    report._check_older(tmp_path, "Quality")
    (tmp_path / name).write_text(f"<!doctype html># {WORK}")
    with pytest.raises(BadResults, match="--out"):
        report._check_older(tmp_path, "Quality")
