"""Whatever is written about people is private, whatever the umask, the release before, or the kind of file."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from streams import permissions
from streams.analytics.snapshot import Publisher
from streams.analytics.store import DuckDBStore
from streams.local import journal
from streams.local.children import open_log
from streams.settings import Settings
from tests.unit.analytics.analytics_builders import skill, write


@pytest.fixture(autouse=True, params=[0o000, 0o022], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def fill(settings: Settings) -> None:
    permissions.set_umask(settings.group)
    permissions.restrict(permissions.make_private(settings.data_dir, settings.group), settings.group)
    with DuckDBStore(settings.data_dir / "live.duckdb", "sager.") as store:
        write(store, skill(1))
        Publisher(store, settings.duckdb_file, 5.0, group=settings.group).publish()
        write(store, skill(2))
        (settings.data_dir / "a kind of file that is yet to come").write_text("of people")
        with open_log(settings.data_dir / "logs" / "worker.log"):
            assert (settings.data_dir / "live.duckdb.wal").exists()


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.lstat().st_mode)) for path in (folder, *folder.rglob("*"))}


def test_all_files_in_a_data_folder_are_private(tmp_path):
    settings = Settings(data_dir=tmp_path / "made" / "data", duckdb=tmp_path / "public" / "sager.duckdb")
    fill(settings)
    assert not list(permissions.exposed(settings.data_dir)), modes(settings.data_dir)
    assert modes(settings.duckdb_file.parent) == {"public": "0o700", "sager.duckdb": "0o440"}
    assert modes(tmp_path)["made"] == "0o700"


@pytest.mark.parametrize("umask", [0], indirect=True)
def test_foreign_files_in_a_shared_folder_keep_their_permissions(tmp_path, caplog):
    tmp_path.chmod(0o755)
    thesis = tmp_path / "thesis"
    thesis.mkdir(mode=0o755)
    (thesis / "part.txt").touch(0o644)
    (tmp_path / "elsewhere").touch()
    (tmp_path / "elsewhere").chmod(0o644)
    (tmp_path / "live.duckdb").touch()
    (tmp_path / "live.duckdb").chmod(0o644)
    (tmp_path / "logs").symlink_to(thesis)
    before = modes(tmp_path)
    permissions.restrict(tmp_path)
    assert modes(tmp_path) == {**before, "live.duckdb": "0o640"}
    assert "thesis" in caplog.text
    sticky = tmp_path / "tmp"
    sticky.mkdir()
    sticky.chmod(0o1777)
    permissions.restrict(sticky)
    assert stat.S_IMODE(sticky.stat().st_mode) == 0o1777


def test_only_the_configured_group_may_read(tmp_path):
    others = [number for number in os.getgroups() if number != os.getegid()]
    group = 54321 if os.geteuid() == 0 else next(iter(others), os.getegid())
    settings = Settings(data_dir=tmp_path / "data", group=str(group))
    fill(settings)
    assert not list(permissions.exposed(settings.data_dir, settings.group)), modes(settings.data_dir)
    assert {path.lstat().st_gid for path in (settings.data_dir, *settings.data_dir.rglob("*"))} == {group}
    found = modes(settings.data_dir)
    assert (found["data"], found["sager.duckdb"], found["live.duckdb"]) == ("0o2750", "0o440", "0o640")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes other users")
def test_another_user_reads_files_only_in_the_group(tmp_path):
    with TemporaryDirectory(prefix="sager-private-") as name:
        Path(name).chmod(0o755)
        settings = Settings(data_dir=Path(name) / "data", group="54321")
        fill(settings)
        for group, reads in ((54321, True), (65534, False)):
            for file in ("sager.duckdb", "live.duckdb"):
                done = subprocess.run(
                    ["cat", settings.data_dir / file], user=65534, group=group, extra_groups=[], cwd="/",
                    capture_output=True, check=False,
                )  # fmt: skip
                assert (done.returncode == 0) is reads, done.stderr


@pytest.mark.parametrize("umask", [0], indirect=True)
def test_the_journal_is_private(tmp_path):
    settings = Settings(data_dir=tmp_path / "data")
    journal.write(settings, journal.JournalContents())
    assert not list(permissions.exposed(tmp_path / "data" / "journal"))


@pytest.mark.parametrize("umask", [0], indirect=True)
def test_processes_start_with_a_private_umask(tmp_path, umask):
    code = f"import os; from streams.cli import main; os.umask({umask}); main()"
    words = ["schemas", "export", "--out", str(tmp_path / "out")]
    subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True)
    assert not list(permissions.exposed(tmp_path / "out"))
