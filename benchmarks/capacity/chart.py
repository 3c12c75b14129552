"""Values of the Helm chart for a deployment's size: how many workers and partitions, and what each may use."""

import math
from typing import Any

from benchmarks.capacity.constants import Constants
from benchmarks.capacity.model import Size, needs

MIB, GIB = 1024**2, 1024**3
STEP_MIB = 256
"""Memory is asked for in steps of this many MiB."""
TWO = 2
"""Fewest workers: one takes over from the other."""
PARTITIONS_EACH = 3
"""Partitions for each worker at the peak, so that a few more workers still share evenly."""
LEAST_PARTITIONS = 32
ROCKSDB_MIB = 256
"""Write buffers and block caches of a worker's seven tables."""
LIMIT = 2.0
"""A limit over what is asked for: one worker takes over what another had, and recovery reads in batches."""
COMPACTION = 3
"""RocksDB's files over what is in them, while it compacts."""
FILES = 4
"""DuckDB's live file, its snapshot, and two spares."""
QUERIES_MIB = 512
"""For rows on their way into DuckDB, and for queries of a console."""
CPU_LEAST = 250
CPU_STEP = 250


def values(size: Size, constants: Constants, standbys: int = 1) -> dict[str, Any]:
    """What the chart's values should say.

    Args:
        size: how large the deployment is.
        constants: what was measured.
        standbys: `settings.standby_replicas`.
    """
    found = needs(size, constants)
    workers = max(TWO, found.workers)
    partitions = max(LEAST_PARTITIONS, PARTITIONS_EACH * workers)
    # When one is away the others have its share.
    tables = found.tables * (1 + standbys) / (workers - 1)
    worker_mib = constants.worker_mib + found.items_each / MIB + ROCKSDB_MIB
    api_mib = constants.api_mib + found.api / MIB
    return {
        "settings": {"partitions": partitions, "standby_replicas": standbys},
        "worker": {
            "replicas": workers,
            "resources": _resources(_peak(found.worker_cores, size) / workers, worker_mib),
            "storage": {"size": _gib(COMPACTION * tables, 10)},
        },
        "materializer": {
            "resources": _resources(_peak(found.materializer_cores, size), constants.materializer_mib + QUERIES_MIB),
            "storage": {"size": _gib(FILES * found.duckdb, 10)},
        },
        "api": {"resources": _resources(0.0, api_mib)},
    }


def _peak(cores: float, size: Size) -> float:
    return cores * size.peak / size.utilisation


def _resources(cores: float, mib: float) -> dict[str, dict[str, str]]:
    cpu = max(CPU_LEAST, CPU_STEP * math.ceil(1_000 * cores / CPU_STEP))
    asked = STEP_MIB * math.ceil(mib / STEP_MIB)
    return {
        "requests": {"cpu": f"{cpu}m", "memory": f"{asked}Mi"},
        "limits": {"memory": f"{math.ceil(LIMIT * asked)}Mi"},
    }


def _gib(size: float, step: int) -> str:
    return f"{step * max(1, math.ceil(size / GIB / step))}Gi"
