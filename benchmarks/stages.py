"""What each mechanism costs: CPU, LLM calls and tokens, per run of a stage and per interaction.

    python -m benchmarks.stages [--users 30] [--rounds 6] [--json]
    python -m benchmarks.stages --llm http://localhost:8080/v1 --model NAME --users 2 --rounds 1

It drives the operators over the demo's simulated users, without Kafka. An interaction is one choice: from the request
for a ranking to the evolved skill and what its neighbours hear. CPU is this process' own, the HTTP client's part
included. By default the endpoint is `tests/openai_server.py`, a process of its own: calls and prompt tokens are real,
completions are as long as its made-up answers, times say nothing. With `--llm` all are those of a real endpoint.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.stages_meter import READ, STAGES, WAYS, Meter, Row
from benchmarks.stages_world import World
from streams.demo.scenario import Simulated
from streams.settings import Settings

SERVER = Path(__file__).parents[1] / "tests" / "openai_server.py"
HISTORY = ("StatInit: parse an item", "prior: profile and memory")
"""Stages that run once per interaction of the past, before any choice."""
WARM_USERS = 3


@contextmanager
def _endpoint(url: str | None) -> Iterator[str]:
    if url:
        yield url
        return
    server = subprocess.Popen([sys.executable, str(SERVER), "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        yield (server.stdout or sys.stdin).readline().split()[-1]
    finally:
        server.terminate()
        server.wait(10)


def measure(args: argparse.Namespace) -> Meter:
    """Drive the world; a first choice of a few users warms up and does not count."""
    settings = Settings()
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    with _endpoint(args.llm) as url:
        meter = Meter(url, args.model, key, args.timeout, settings.llm_sizes_in_schema)
        world = World(meter)
        # One round more, for the warming up.
        scenario = Simulated(args.users, args.rounds + 1, args.seed)
        for past in scenario.past():
            world.past(past)
        for turn, choices in enumerate(scenario.rounds()):
            for choice in choices if turn else choices[: min(WARM_USERS, args.users // 2)]:
                world.choice(choice)
            if not turn:
                meter.forget(HISTORY)
        meter.close()
    return meter


def figures(name: str, row: Row, interactions: int) -> dict[str, Any]:
    """A row as JSON."""
    runs = max(1, row.runs)
    return {
        "stage": name,
        "runs": row.runs,
        "runs_per_interaction": round(row.runs / interactions, 3),
        "cpu_ms": round(1000 * row.cpu / runs, 4),
        "cpu_ms_per_interaction": round(1000 * row.cpu / interactions, 4),
        "llm_calls": round(row.calls / runs, 3),
        "prompt_tokens_mean": round(statistics.fmean(row.prompts), 1) if row.prompts else 0,
        "prompt_tokens_max": max(row.prompts, default=0),
        "completion_tokens_mean": round(statistics.fmean(row.completions), 1) if row.completions else 0,
        "median_ms": statistics.median(row.ms) if row.ms else 0,
        "llm_calls_per_interaction": round(row.calls / interactions, 3),
        "prompt_tokens_per_interaction": round(sum(row.prompts) / interactions, 1),
        "completion_tokens_per_interaction": round(sum(row.completions) / interactions, 1),
        "bytes": round(row.size / runs),
        "failed": row.failed,
    }


def totals(meter: Meter) -> list[dict[str, Any]]:
    """What one interaction costs a worker, by how it is configured."""
    rows = {name: figures(name, row, meter.interactions) for name, row in meter.rows.items()}
    read = [rows[name]["cpu_ms_per_interaction"] for name in rows if name in {f"decode {event}" for event in READ}]
    written = [rows[name]["cpu_ms_per_interaction"] for name in rows if name.startswith("encode ")]
    codec = sum(read) + sum(written)
    found = []
    for letter, way in WAYS.items():
        mine = [rows[name] for name, ways in STAGES.items() if letter in ways]
        names = ("cpu_ms", "llm_calls", "prompt_tokens", "completion_tokens")
        sums = {name: sum(row[f"{name}_per_interaction"] for row in mine) for name in names}
        found.append({"way": way, "codec_cpu_ms": codec, **sums})
    return [{name: round(v, 3) if isinstance(v, float) else v for name, v in each.items()} for each in found]


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table, numbers to the right."""
    rule = ["---", *["---:"] * (len(columns) - 1)]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in (columns, rule, *rows))


def markdown(meter: Meter, timed: bool) -> str:
    """All figures as tables."""
    rows = {name: figures(name, row, meter.interactions) for name, row in meter.rows.items() if row.runs}
    columns = ["stage", "runs per interaction", "CPU ms", "LLM calls", "prompt tokens", "most", "completion tokens"]
    stages = []
    for name in STAGES:
        if (row := rows.get(name)) is None:
            continue
        often = "once per past interaction" if name in HISTORY else f"{row['runs_per_interaction']:.2f}"
        tokens = (row["prompt_tokens_mean"], row["prompt_tokens_max"], row["completion_tokens_mean"])
        cells = [name, often, f"{row['cpu_ms']:.3f}", f"{row['llm_calls']:.2f}", *(f"{n:.0f}" for n in tokens)]
        stages.append([*cells, *([f"{row['median_ms']:.0f}"] if timed else []), *([row["failed"]] if timed else [])])
    codecs = [
        [
            event,
            f"{rows[f'encode {event}']['runs_per_interaction']:.2f}",
            rows[f"encode {event}"]["bytes"],
            f"{rows[f'encode {event}']['cpu_ms']:.3f}",
            f"{rows[f'decode {event}']['cpu_ms']:.3f}",
        ]
        for event in [name.removeprefix("encode ") for name in rows if name.startswith("encode ")]
    ]
    ways = [
        [
            each["way"],
            f"{each['cpu_ms']:.2f}",
            f"{each['codec_cpu_ms']:.2f}",
            f"{each['llm_calls']:.2f}",
            f"{each['prompt_tokens']:.0f}",
            f"{each['completion_tokens']:.0f}",
        ]
        for each in totals(meter)
    ]
    per = ["per interaction", "CPU ms, operators", "CPU ms, JSON", "LLM calls", "prompt tokens", "completion tokens"]
    return "\n\n".join(
        [
            table([*columns, *(["median ms", "failed"] if timed else [])], stages),
            table(per, ways),
            table(["JSON", "per interaction", "bytes", "encode, CPU ms", "decode, CPU ms"], codecs),
        ]
    )


def main() -> None:
    """Measure, and print tables or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=6, help="choices per user")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--llm", metavar="URL", help="an OpenAI-compatible endpoint, its key in OPENAI_API_KEY")
    parser.add_argument("--model", default=Settings().llm_model)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one call")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    meter = measure(args)
    if args.json:
        stages = [figures(name, row, meter.interactions) for name, row in meter.rows.items() if row.runs]
        told = {"interactions": meter.interactions, "stages": stages, "per_interaction": totals(meter)}
        print(json.dumps({"benchmark": "stages", **told}))
    else:
        print(f"{meter.interactions} interactions of {args.users} users\n\n{markdown(meter, bool(args.llm))}")


if __name__ == "__main__":
    main()
