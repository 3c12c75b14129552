"""Evidence or nothing (invariant 8): what a reasoner says against what can be seen."""

from operators.evolve import Proposal, validate
from schemas import MAX_ATTRIBUTES, ChangeKind, Judgement, Refusal, Verdict, encode
from streams.privacy import DEFAULT as PRIVACY
from tests.builders import a_contrast, a_proposal, a_skill, an_attribute, evolve, facts, id_of

NOIR, SAGA = "genre: noir", "genre: saga"


def test_honest_proposal_goes_through_as_it_is() -> None:
    proposal = a_proposal([NOIR], ["mood: dark"], [SAGA], reasons={id_of(NOIR): "chosen"}, analysis="Noir again.")

    validated = validate(
        proposal, a_skill(an_attribute(NOIR), an_attribute(SAGA)), a_contrast([NOIR, "mood: dark"]), privacy=PRIVACY
    )

    assert validated.proposal == proposal
    assert validated.refused == ()


def test_unknown_attributes_cannot_be_reinforced_or_weakened() -> None:
    validated = validate(a_proposal([NOIR], [], [SAGA]), a_skill(), a_contrast([NOIR]), privacy=PRIVACY)

    assert not validated.proposal.reinforced
    assert not validated.proposal.weakened
    assert [(r.proposed, r.why) for r in validated.refused] == [
        (ChangeKind.REINFORCED, Refusal.UNKNOWN),
        (ChangeKind.WEAKENED, Refusal.UNKNOWN),
    ]


def test_fact_that_the_chosen_item_lacks_is_no_discovery() -> None:
    contrast = a_contrast([NOIR], unchosen=[[SAGA]])

    validated = validate(a_proposal(discovered=[SAGA, "genre: made up"]), a_skill(), contrast, privacy=PRIVACY)

    assert not validated.proposal.discovered
    assert [r.why for r in validated.refused] == [Refusal.UNSUPPORTED, Refusal.UNSUPPORTED]


def test_flood_of_invented_ids_is_cut_so_that_the_log_stays_bounded() -> None:
    proposal = Proposal(reinforced=tuple(f"x:{n}" * 500 for n in range(200)))

    validated = validate(proposal, a_skill(), a_contrast(), privacy=PRIVACY)

    assert len(validated.refused) == 64
    assert all(3 <= len(refused.attribute_id) <= 200 for refused in validated.refused)


def test_a_judgement_needs_its_line_and_what_it_quotes_needs_the_item() -> None:
    made_up, [noir], [dark] = facts("mood: made up")[0], facts(NOIR), facts("mood: dark")
    said = [(id_of(NOIR), dark), (id_of(NOIR), made_up), (id_of(NOIR), None), (id_of(SAGA), noir)]
    proposal = a_proposal(
        judged=tuple(Judgement(attribute_id=name, verdict=Verdict.SUPPORTS, quoted=fact) for name, fact in said)
    )

    diff = evolve(a_skill(an_attribute(NOIR)), proposal, a_contrast([NOIR, "mood: dark"]))[1]

    assert [(judged.attribute_id, judged.quoted) for judged in diff.judged] == [
        (id_of(NOIR), dark),
        (id_of(NOIR), None),
        (id_of(NOIR), None),
    ]
    many = validate(Proposal(judged=proposal.judged * 40), a_skill(an_attribute(NOIR)), a_contrast(), privacy=PRIVACY)
    assert len(many.proposal.judged) == MAX_ATTRIBUTES


def test_text_that_utf8_cannot_hold_does_not_stop_the_stream() -> None:
    """JSON may spell lone surrogates (`\\ud800`); a diff that cannot be encoded would end the user's evolution."""
    proposal = Proposal(
        reinforced=(id_of(NOIR), "genre:\ud800"), reasons={id_of(NOIR): "so \udfff"}, analysis="\ud800 thinks"
    )

    skill, diff = evolve(a_skill(an_attribute(NOIR)), proposal, a_contrast([NOIR]))

    assert encode(skill)
    assert (diff.changes[0].reason, diff.analysis) == ("so ?", "? thinks")
    assert [r.attribute_id for r in diff.refused] == ["genre:?"]
