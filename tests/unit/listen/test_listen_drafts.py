"""What people tell of their lives in a text of their own implies a preference; said to somebody it is only news."""

import pytest

from schemas.cards import Strength
from tests.unit.listen.listen_builders import heard, turn

MINE = 'Please polish the email I wrote: "Hello, {} Best, Ann"'
RECEIVED = 'I received this email from Tom, please explain it: "Hello, {} Best, Tom"'
IMPLIED = (
    ("I recently attended a lecture on moss.", "attending a lecture on moss"),
    ("Recently, I visited a lighthouse museum.", "visiting a lighthouse museum"),
    ("I spent the weekend restoring old radios.", "restoring old radios"),
    ("I'm currently using a small internet provider.", "a small internet provider"),
    ("I volunteer at animal shelters.", "volunteering at animal shelters"),
    ("I found great comfort in pottery.", "pottery"),
)
COURTESY = (
    "I look forward to hearing from you.",
    "I appreciate your patience.",
    "I would be delighted to discuss my findings.",
    "I am writing to share my thoughts.",
    "I hope you are well.",
    "I rely on your timely deliveries.",
    "I would welcome the opportunity to talk.",
    "I loved working with you.",
)


@pytest.mark.parametrize(("sentence", "value"), IMPLIED)
def test_a_text_of_ones_own_tells_of_ones_life(sentence: str, value: str) -> None:
    found = heard(turn(MINE.format(sentence))).findings
    assert [(finding.value, finding.strength) for finding in found] == [(value, Strength.IMPLIED)]


@pytest.mark.parametrize("sentence", [sentence for sentence, _ in IMPLIED] + ["I rely heavily on cookbooks."])
def test_a_text_that_somebody_else_wrote_says_nothing(sentence: str) -> None:
    assert heard(turn(RECEIVED.format(sentence))).findings == ()


@pytest.mark.parametrize("sentence", COURTESY)
def test_courtesy_and_business_in_a_letter_say_nothing(sentence: str) -> None:
    assert heard(turn(MINE.format(sentence))).findings == ()


@pytest.mark.parametrize(
    "request_for_it",
    [
        "Please fix the grammar of this before I send it:",
        "Clean up this caption I'm posting:",
        "Make this toast of mine flow better:",
        "I'd like to post the following, please polish it:",
    ],
)
def test_a_text_that_one_is_about_to_send_is_ones_own(request_for_it: str) -> None:
    found = heard(turn(f'{request_for_it} "Friends, I rely heavily on cookbooks."')).findings
    assert [finding.value for finding in found] == ["cookbooks"]


@pytest.mark.parametrize(
    "request_for_it",
    [
        "My friend wants to post this, please fix it:",
        "Please fix the grammar of this:",
        "I received this and want to send an answer, explain it:",
    ],
)
def test_a_text_that_nobody_claims_says_nothing(request_for_it: str) -> None:
    assert heard(turn(f'{request_for_it} "Friends, I rely heavily on cookbooks."')).findings == ()
