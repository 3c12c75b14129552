"""What the client costs an app: megabytes on disk after `pip install` of its wheel, and time and memory of its import.

    python -m benchmarks.client_size
    python -m benchmarks.client_size --json

Needs the package index: the wheel's dependencies are installed into a virtual environment of their own, compiled.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MIB = 1024 * 1024
IMPORT = """
import resource, time
began = time.perf_counter()
import sager_client
seconds = time.perf_counter() - began
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
TIMES = 5


def run(*command: object, **more: object) -> str:
    """What a command prints; it may not fail."""
    done = subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True, **more)  # type: ignore[call-overload]
    return str(done.stdout)


def size_mib(path: Path) -> float:
    """What a file or a folder takes on the disk, as `du` counts."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_blocks for file in files) * 512 / MIB


def measure(folder: Path) -> dict[str, object]:
    """Build the wheel, install it, weigh what came, and import it a few times."""
    run(
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        folder,
        cwd=ROOT / "clients/python",
    )
    (wheel,) = folder.glob("*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", wheel)
    (site,) = (folder / "venv").glob("lib/*/site-packages")
    parts = {path.name: round(size_mib(path), 1) for path in site.iterdir()}
    imports = [[float(word) for word in run(python, "-c", IMPORT).split()] for _ in range(TIMES)]
    return {
        "wheel_kib": round(wheel.stat().st_size / 1024),
        "installed_mib": round(size_mib(site), 1),
        "parts_mib": {name: mib for name, mib in sorted(parts.items(), key=lambda part: -part[1]) if mib >= 0.1},
        "import_seconds": round(min(seconds for seconds, _ in imports), 2),
        "import_rss_mib": round(min(mib for _, mib in imports)),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder))
    if args.json:
        print(json.dumps(found))
        return
    for name, mib in found["parts_mib"].items():  # type: ignore[attr-defined]
        print(f"{mib:8.1f} MiB  {name}")
    print(f"{found['installed_mib']:8} MiB  in all; the wheel itself has {found['wheel_kib']} KiB")
    print(f"{found['import_seconds']:8} s    import, {found['import_rss_mib']} MiB of memory then")


if __name__ == "__main__":
    main()
