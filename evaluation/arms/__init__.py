"""The arms by name, in the order in which reports list them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from evaluation.arms.arm import Arm
from evaluation.arms.options import ArmOptions
from evaluation.exceptions import UnknownArm

__all__ = ["ARMS", "Arm", "ArmOptions", "Entry", "known", "make"]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the registry of arms.

    Attributes:
        what: its description, in one line.
        factory: `module:callable` in this package, which takes `ArmOptions`. Imported only when the arm is created.
        needs: an extra of the distribution that it requires besides `eval`.
        asks: whether it asks an LLM.
    """

    what: str
    factory: str
    needs: str = ""
    asks: bool = False


ARMS: Mapping[str, Entry] = MappingProxyType(
    {
        "random": Entry("chance", "simple:Random"),
        "popularity": Entry("how many users met the item", "simple:Popularity"),
        "item-knn": Entry("cosine of the items' users, shrunk; no attributes", "neighbours:ItemKnn"),
        "profile-genre": Entry("TF-IDF profile of the user's genres (or categories)", "profile:MainKind"),
        "profile": Entry("TF-IDF profile of all facts that the parsers find", "profile:Profile"),
        "item-knn+profile": Entry("both, as standard scores added", "profile:KnnAndProfile"),
        "lightgcn": Entry("LightGCN, trained on who met what", "trained:LightGcn", "eval-trained"),
        "sasrec": Entry("SASRec, trained on what followed what", "trained:SasRec", "eval-trained"),
        "lightgcn+profile": Entry(
            "LightGCN and the profile, as standard scores added", "trained:LightGcnAndProfile", "eval-trained"
        ),
        "prior": Entry("StatInit alone: no community, no evolution", "sager:prior"),
        "no-skill": Entry("retrieve only, by the streamed graph", "sager:no_skill"),
        "statinit": Entry("retrieve and StatInit, no evolution", "sager:with_statinit"),
        "sager": Entry("the product as it ships: a stream of choices, and weights learned from them", "streamed:sager"),
        "sager-counts": Entry("retrieve and a skill that counts, with a new domain's weights", "sager:sager_counts"),
        "sager-rules": Entry("the same, but the former reasoner: one tier a choice, by rules", "sager:sager_rules"),
        "sager-replace": Entry("as sager-counts, but each choice writes the skill anew", "ablations:replaced"),
        "sager-pointwise": Entry("the same, but each candidate is judged by itself", "ablations:pointwise"),
        "sager-no-statinit": Entry("the same, but skills start from nothing", "ablations:no_statinit"),
        "sager-no-collaborative": Entry("the same, without the community", "ablations:no_collaborative"),
        "sager-no-propagate": Entry("the same, with the user's own memory only", "ablations:no_propagate"),
        "sager-slim": Entry("the same, ranking by the slim skill's lines only", "ablations:slim_only"),
        "no-skill-llm": Entry("retrieve only; an LLM ranks", "llm:no_skill", asks=True),
        "statinit-llm": Entry("retrieve and StatInit; an LLM ranks", "llm:with_statinit", asks=True),
        "sager-llm": Entry("all of SAGER by an LLM, which evolves skills and ranks", "llm:sager", asks=True),
        "vanilla": Entry("a host without memory; hosts have one round of warm-up", "hosting:vanilla"),
        "vanilla+skill": Entry("the same host, given the slim skill", "hosting:vanilla_skill"),
        "static-profile": Entry("a host with a profile made once", "hosting:static_profile"),
        "static-profile+skill": Entry("the same host, given the slim skill", "hosting:static_profile_skill"),
        "dynamic-profile": Entry("a host with a profile that choices rewrite", "hosting:dynamic_profile"),
        "dynamic-profile+skill": Entry("the same host, given the slim skill", "hosting:dynamic_profile_skill"),
    }
)


def known(names: Iterable[str]) -> list[str]:
    """The names, without duplicates.

    Raises:
        UnknownArm: one of them is unknown; the message lists all arms.
    """
    wanted = list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in ARMS]:
        raise UnknownArm(f"there is no arm {', '.join(map(repr, unknown))}; there are: {', '.join(ARMS)}")
    return wanted


def make(name: str, options: ArmOptions) -> Arm:
    """A new, untrained arm.

    Raises:
        UnknownArm: there is none of this name.
    """
    known([name])
    module, _, factory = ARMS[name].factory.partition(":")
    made: Arm = getattr(import_module(f"{__name__}.{module}"), factory)(options)
    return made
