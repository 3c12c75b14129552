"""What a turn of a conversation keeps of what is private, and what of the harmless it loses, in twelve languages.

    python -m benchmarks.privacy [--json]

The utterances are those of the tests. Exit status 1: something private was kept, or more than two harmless ones lost.
"""

import argparse
import json
import sys
import time
from typing import Any

MOST_REFUSED = 2


def main() -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one object, for programs")
    told = measured()
    if parser.parse_args().json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        print(f"kept {told['kept']} of {told['private']} private utterances in {told['languages']} languages")
        print(f"refused {told['refused']} of {told['harmless']} harmless ones; {told['us_per_turn']} µs per turn")
        for name in (*told["kept_ids"], *told["refused_ids"]):
            print(" ", name)
    return int(told["kept"] > 0 or told["refused"] > MOST_REFUSED)


def measured() -> dict[str, Any]:
    """The figures."""
    from tests.unit.privacy.utterances import kept, languages, read, refused, turned  # noqa: PLC0415 - tables of words

    private, harmless = list(read("private")), list(read("harmless"))
    turned(harmless[0])
    began = time.process_time()
    held, lost = kept(private), refused(harmless)
    took = time.process_time() - began
    return {
        "private": len(private),
        "kept": len(held),
        "harmless": len(harmless),
        "refused": len(lost),
        "languages": len(languages(private)),
        "us_per_turn": round(1e6 * took / (len(private) + len(harmless))),
        "kept_ids": [name for name, _ in held],
        "refused_ids": [name for name, _ in lost],
    }


if __name__ == "__main__":
    sys.exit(main())
