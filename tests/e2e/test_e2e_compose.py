"""The services of docker-compose.yml as they stand there, run as processes: commands, settings, health checks, end."""

import os
import sys
from pathlib import Path

import pytest

from infra.compose import ROOT
from infra.running import DidNotRun, Running
from streams.settings import Settings

pytestmark = pytest.mark.broker


def running(settings: Settings, folder: Path, **overrides: str) -> Running:
    machine = {name: value for name, value in os.environ.items() if not name.startswith(("SAGER_", "OPENAI_"))}
    return Running(
        folder=folder,
        bootstrap=settings.bootstrap,
        entry=[sys.executable, "-P", "-m", "streams.cli"],
        environment={
            **machine,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{machine['PATH']}",
            "PYTHONPATH": str(ROOT),
            "SAGER_DATA_DIR": "/var/lib/sager",
        },
        overrides={
            "SAGER_EMBEDDED": str(settings.embedded).lower(),
            "SAGER_PREFIX": settings.prefix,
            "SAGER_APP_ID": settings.app_id,
            **overrides,
        },
    )


@pytest.mark.on("embedded")
@pytest.mark.seldom
def test_every_service_becomes_healthy_and_ends_in_order(settings: Settings, tmp_path: Path) -> None:
    took = running(settings, tmp_path).all()

    assert set(took) == {"worker", "materializer"}
    assert (tmp_path / "materializer" / "srv" / "analytics" / "sager.duckdb").is_file()
    assert (tmp_path / "materializer" / "var" / "lib" / "sager" / "live.duckdb").is_file()


@pytest.mark.on("embedded")
def test_a_service_that_cannot_start_is_told_with_its_log(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(DidNotRun, match=r"topics ended with 1\n(.|\n)*SAGER_RANKER"):
        running(settings, tmp_path, SAGER_RANKER="magic").all()
