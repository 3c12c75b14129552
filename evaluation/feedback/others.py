"""What a person says of somebody else's taste, in passing: none of it may be learned as theirs."""

from dataclasses import dataclass

from evaluation.feedback.scenarios import Scenario
from evaluation.feedback.skills import Skills

SENTENCES = (
    "My daughter likes {value}.",
    "My wife doesn't want {value}.",
    "My boss prefers {value}.",
    "It's for a friend of mine who hates {value}.",
    "Mein Sohn mag {value}.",
    "Meine Mutter will kein {value}.",
)


@dataclass
class Others:
    """Says one such sentence per scenario, of one of the values that are shown.

    Attributes:
        skills: who hears it.
        said: how many sentences there were.
        learned: how many lines and statements came or changed by them.
    """

    skills: Skills
    said: int = 0
    learned: int = 0

    async def __call__(self, scenario: Scenario) -> None:
        """Says the next sentence, and counts what changed."""
        item = scenario.items[self.said % len(scenario.items)]
        values = [str(value) for value in item.metadata.values()]
        if not values:
            return
        text = SENTENCES[self.said % len(SENTENCES)].format(value=values[self.said % len(values)])
        before = self.skills.skill(scenario)
        after = await self.skills.say(scenario, text)
        self.said += 1
        self.learned += sum(line not in before.attributes for line in after.attributes)
        self.learned += sum(each not in before.stated for each in after.stated)
