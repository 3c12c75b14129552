"""How often the slim skill's text changes over a user's choices, and how well its lines rank.

    python -m benchmarks.slim_changes --data DIR --users 100 --choices 20

Users choose as in `sager eval stream`. Per data set it prints how many of a user's choices change the text (mean and
median over users), its length in tokens, how many texts carry a number without a word, and Hit@1 of a ranking by the
lines of the slim skill alone.
"""

import argparse
import asyncio
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import mean, median

from evaluation.stream.arms import ARMS, SAGER
from evaluation.stream.lists import Lists
from evaluation.stream.plan import Choice, plans
from evaluation.stream.play import By, Play, Played
from operators.options import RankSkill
from operators.rank.weights import DEFAULT_WEIGHTS
from operators.retrieve import Retrieved
from operators.steps import Evolve
from operators.steps.rank import Rank
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING

BUDGET = 30
BARE = re.compile(r"(?:: |, )[^a-zA-Z,|]*\d[^a-zA-Z,|]*(?:,|$| \|)")


class Watched(Play):
    """A play that keeps each slim skill."""

    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.texts: dict[str, list[str]] = {}
        self.tokens: list[int] = []
        self.hits: list[bool] = []
        self._slim = Rank(by=RankSkill.SLIM, slim_tokens=BUDGET, privacy=PRIVACY, vouching=VOUCHING)

    async def _turn(self, player, played: Played) -> None:  # type: ignore[no-untyped-def]
        choice: Choice = self._plan.choices[player.user_id][player.played]
        shares = self._plan.populations[player.user_id].shares
        if choice.shown:
            items = [self._plan.facts[item_id] for item_id in choice.candidates]
            short = self._slim.extract(player.skill, shares=shares)
            spoken = self._slim.spoken(items, self._slim.lines(player.skill, short=short), Retrieved())
            order = self._slim.weighed(items, spoken, "", choice.request_id, DEFAULT_WEIGHTS).order
            self.hits.append(order[0] == choice.taken.item_id)
        await super()._turn(player, played)
        short = self._slim.extract(player.skill, shares=shares)
        self.texts.setdefault(player.user_id, []).append(short.record.text)
        self.tokens.append(short.record.tokens)


async def measured(data: Path, users: int, choices: int, lists: Lists) -> str:
    """Return one line of figures about a data set."""
    [plan] = plans(data, [lists], [3], users=users, most=choices, seed=0)
    play = Watched(
        replace(ARMS[SAGER], evolve=Evolve(slim_tokens=BUDGET, privacy=PRIVACY, vouching=VOUCHING)), plan, (By.SKILL,)
    )
    await play.run()
    changes = [sum(a != b for a, b in pairwise(texts)) for texts in play.texts.values()]
    of = [len(texts) - 1 for texts in play.texts.values()]
    bare = sum(bool(BARE.search(text)) for texts in play.texts.values() for text in texts)
    return (
        f"{data.name} ({lists}): {len(changes)} users, {mean(changes):.1f} of {mean(of):.1f} choices change the text "
        f"(median {median(changes):g}), {mean(play.tokens):.1f} tokens at most {max(play.tokens)}, "
        f"{bare} texts with a bare number, Hit@1 by slim {mean(play.hits):.4f}"
    )


def main() -> None:
    """Print the figures of each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--choices", type=int, default=20)
    parser.add_argument("--lists", default="popular")
    chosen = parser.parse_args()
    for data in chosen.data:
        print(asyncio.run(measured(data, chosen.users, chosen.choices, Lists(chosen.lists))), flush=True)


if __name__ == "__main__":
    main()
