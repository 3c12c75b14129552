"""What a person can ask to be forgotten by its name: lines that a skill has or had, and what they stated."""

from operators.steps import Evolve, State
from operators.understand import understand
from schemas import Correction, Directive, Stance
from streams.language import RULES
from streams.privacy import DEFAULT as PRIVACY
from streams.rights.holdings import Holdings
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import DOMAIN, NOW, USER, a_skill, an_attribute, id_of


def test_a_line_that_was_only_spoken_of_can_be_named() -> None:
    said = Directive(stance=Stance.AVOIDS, dimension="genre", value="horror")
    correction = Correction(event_id="w", occurred_at=NOW, user_id=USER, domain=DOMAIN, says=(said,))
    skill = a_skill(an_attribute("genre: noir"), version=0)
    diff = (
        Evolve(privacy=PRIVACY, vouching=VOUCHING)
        .correct(State(skill), correction, (), understand(correction, (), skill, privacy=PRIVACY, reader=RULES))
        .diff
    )
    assert diff is not None

    held = Holdings(USER, diffs={DOMAIN: [diff]})

    horror = id_of("genre: horror")
    assert held.lines(DOMAIN) == [f"avoids:{horror}", horror, id_of("genre: noir")]
    assert held.versions_with(DOMAIN, id_of("genre: horror")) == 1
    assert held.versions_with(DOMAIN, id_of("genre: saga")) == 0
