"""A what-if whose reasoner is a model, against a real HTTP endpoint that answers, or does not."""

from typing import Any

from operators.whatif import Moment
from streams.settings import Settings
from streams.whatif.arms import knobs_of, side_of
from streams.whatif.report import Report
from tests.openai_server import Act, Do, OpenAiServer, threaded
from tests.unit.whatif.whatif_builders import LiveSide, a_choice, replayed


def replayed_by_llm(server: OpenAiServer, **more: Any) -> list[Moment]:
    live = LiveSide()
    for number, genre in enumerate(("farce", "epic", "farce")):
        live.choose(a_choice(number, genre))
    own = Settings(llm_base_url=server.base_url, llm_model="m", llm_attempts=1, llm_retry_seconds=0)
    side = side_of(knobs_of(own, {"reasoner": "llm", "gate": False, **more}), lambda _: None)
    return replayed(live.series(), side)


def report(moments: list[Moment], tmp_path: Any) -> Report:
    made = Report("r", {}, tmp_path)
    for moment in moments:
        made.note(moment)
    return made


def test_calls_and_tokens_are_told_apart_from_the_live_side(tmp_path: Any) -> None:
    with threaded(OpenAiServer()) as server:
        told = report(replayed_by_llm(server), tmp_path)

    assert (told.live.calls, told.other.calls, told.other.fallbacks) == (0, 3, 0)
    assert told.other.prompt_tokens > 0
    assert len(server.bodies) == 3


def test_rules_answer_in_the_stead_of_an_endpoint_that_fails_and_are_counted(tmp_path: Any) -> None:
    with threaded(OpenAiServer(always=Act(Do.FAIL))) as server:
        told = report(replayed_by_llm(server), tmp_path)
        without = report(replayed_by_llm(server, on_llm_failure="dead-letter"), tmp_path)

    assert (told.other.learned, told.other.fallbacks, told.unavailable) == (3, 3, 0)
    assert (without.other.learned, without.unavailable) == (0, 3)


def test_an_arm_has_a_client_of_its_own() -> None:
    """Its failures must not open the circuit of the live path."""
    from streams.worker.reasoning import llm  # noqa: PLC0415 - an extra

    own = Settings(llm_base_url="http://127.0.0.1:9/v1", reasoner="llm")
    shared = llm.shared_client(own)
    reasoner, replacer = llm.arm_reasoner(own, "shadow")

    assert shared not in [getattr(each, "_client", None) for each in (getattr(reasoner, "inner", reasoner), replacer)]
