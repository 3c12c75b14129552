"""A peer: mem0's `add`, fed from standard input, with the vector store and the history that it has by default.

Runs as a file in an environment of its own, and imports nothing of ours. A line is `{"user": ..., "text": ...}`; after
an empty one it says "done".
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any


def memory(folder: Path, url: str) -> Any:
    """mem0 with everything in a folder, asking this endpoint."""
    os.environ |= {"MEM0_DIR": str(folder / "mem0"), "MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none"}
    from mem0 import Memory  # type: ignore[import-not-found]  # noqa: PLC0415 - it reads the environment

    asked = {"openai_base_url": url, "api_key": "none"}
    return Memory.from_config(
        {
            "llm": {"provider": "openai", "config": {**asked, "model": "stub"}},
            "embedder": {"provider": "openai", "config": {**asked, "model": "stub", "embedding_dims": 1_536}},
            "vector_store": {
                "provider": "qdrant",
                "config": {"path": str(folder / "qdrant"), "embedding_model_dims": 1_536},
            },
            "history_db_path": str(folder / "history.db"),
        }
    )


def main() -> None:
    """Adds until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--raw", action="store_true", help="without asking a model: infer=False")
    args = parser.parse_args()
    known, added = memory(args.folder, args.url), 0
    for line in sys.stdin:
        if not line.strip():
            print(f"done {added}", flush=True)
            continue
        told = json.loads(line)
        made = known.add([{"role": "user", "content": told["text"]}], user_id=told["user"], infer=not args.raw)
        added += len(made["results"])


if __name__ == "__main__":
    main()
