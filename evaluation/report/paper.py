"""The paper's figures as printed (arXiv:2604.14972v2): gpt-4o-mini on InstructRec's editions of its data sets.

Tables 2 and 3 have four digits, Tables 4 and 5 three; the paper's rows for MemRec differ by one digit between its
Tables 4 and 5, and both are given here as printed.
"""

from collections.abc import Mapping
from types import MappingProxyType

MEASURES = ("hit_at_1", "hit_at_3", "ndcg_at_3", "hit_at_5", "ndcg_at_5")
"""The columns of Tables 2 and 3, in the paper's order."""
HITS = ("hit_at_1", "hit_at_3", "hit_at_5")
"""The columns of Tables 4 and 5."""

SETS: Mapping[str, str] = MappingProxyType(
    {"goodreads": "Goodreads", "yelp": "Yelp", "movietv": "MovieTV", "amazon_books": "Books"}
)
"""The paper's data set that is closest to ours, by our folder's name."""
TABLE_OF_SET = MappingProxyType({"Goodreads": "Table 2", "Books": "Table 2", "Yelp": "Table 3", "MovieTV": "Table 3"})

MODEL_OF_ARM: Mapping[str, str] = MappingProxyType(
    {
        "lightgcn": "LightGCN",
        "sasrec": "SASRec",
        "vanilla": "Vanilla LLM",
        "static-profile": "iAgent",
        "dynamic-profile": "i2Agent",
        "no-skill": "MemRec",
        "sager-llm": "Sager",
    }
)
"""The paper's method that is closest to an arm."""

MAIN: Mapping[str, Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "Goodreads": {
            "LightGCN": (0.2499, 0.5879, 0.4432, 0.7903, 0.5263),
            "SASRec": (0.1324, 0.3518, 0.2576, 0.5407, 0.3349),
            "P5": (0.1569, 0.3229, 0.2509, 0.5060, 0.3256),
            "Vanilla LLM": (0.2864, 0.4662, 0.3948, 0.7390, 0.5041),
            "iAgent": (0.2617, 0.4949, 0.3954, 0.6591, 0.4626),
            "RecBot": (0.2705, 0.4754, 0.3876, 0.6495, 0.4589),
            "AgentCF": (0.2951, 0.5910, 0.4654, 0.7726, 0.5399),
            "i2Agent": (0.3099, 0.6079, 0.4825, 0.7675, 0.5481),
            "MemRec": (0.3997, 0.6658, 0.5540, 0.8052, 0.6112),
            "Sager": (0.4593, 0.7001, 0.5989, 0.8273, 0.6512),
        },
        "Books": {
            "LightGCN": (0.1753, 0.3259, 0.2596, 0.5703, 0.3592),
            "SASRec": (0.0914, 0.2830, 0.2001, 0.4845, 0.2824),
            "P5": (0.2192, 0.3607, 0.2994, 0.5273, 0.3671),
            "Vanilla LLM": (0.3138, 0.5617, 0.4533, 0.7270, 0.5226),
            "iAgent": (0.3925, 0.5560, 0.4858, 0.6905, 0.5409),
            "RecBot": (0.3984, 0.5491, 0.4846, 0.6786, 0.5376),
            "AgentCF": (0.3457, 0.6060, 0.4960, 0.7403, 0.5512),
            "i2Agent": (0.4453, 0.6517, 0.5649, 0.7708, 0.6138),
            "MemRec": (0.5117, 0.6915, 0.6152, 0.8007, 0.6601),
            "Sager": (0.5215, 0.7046, 0.6261, 0.8101, 0.6694),
        },
        "Yelp": {
            "LightGCN": (0.3444, 0.5658, 0.4720, 0.7546, 0.5494),
            "SASRec": (0.2305, 0.4312, 0.3458, 0.5597, 0.3980),
            "P5": (0.1444, 0.3207, 0.2435, 0.5220, 0.4785),
            "Vanilla LLM": (0.1692, 0.5275, 0.3696, 0.6861, 0.4360),
            "iAgent": (0.3995, 0.6005, 0.5148, 0.7300, 0.5681),
            "RecBot": (0.4007, 0.6003, 0.5156, 0.7169, 0.5636),
            "AgentCF": (0.1925, 0.4374, 0.3326, 0.6374, 0.4147),
            "i2Agent": (0.4205, 0.6454, 0.5517, 0.7648, 0.6007),
            "MemRec": (0.4868, 0.6912, 0.6053, 0.7908, 0.6463),
            "Sager": (0.5227, 0.7220, 0.6388, 0.8142, 0.6766),
        },
        "MovieTV": {
            "LightGCN": (0.3482, 0.5643, 0.4738, 0.6883, 0.5241),
            "SASRec": (0.3399, 0.5233, 0.4470, 0.6382, 0.4942),
            "P5": (0.1696, 0.3206, 0.2554, 0.5008, 0.3290),
            "Vanilla LLM": (0.4050, 0.7764, 0.6098, 0.8603, 0.6445),
            "iAgent": (0.4253, 0.6170, 0.5361, 0.7420, 0.5871),
            "RecBot": (0.4367, 0.6113, 0.5375, 0.7309, 0.5866),
            "AgentCF": (0.3906, 0.6693, 0.5523, 0.7864, 0.6006),
            "i2Agent": (0.4912, 0.7225, 0.6262, 0.8221, 0.6672),
            "MemRec": (0.5882, 0.7819, 0.7011, 0.8817, 0.7422),
            "Sager": (0.6284, 0.8318, 0.7467, 0.9092, 0.7786),
        },
    }
)
"""Tables 2 and 3: H@1, H@3, N@3, H@5, N@5 by set and model."""

_ORDER = ("Goodreads", "Yelp", "MovieTV", "Books")


def _by_set(figures: tuple[float, ...]) -> Mapping[str, tuple[float, ...]]:
    """A printed row of Table 4 or 5: three hit rates per set, in order."""
    return {name: figures[3 * place : 3 * place + 3] for place, name in enumerate(_ORDER)}


ABLATION: Mapping[str, Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "Sager (Full)": _by_set((0.459, 0.700, 0.827, 0.523, 0.722, 0.814, 0.628, 0.832, 0.909, 0.521, 0.705, 0.810)),
        "w/o Policy Skill": _by_set(
            (0.399, 0.666, 0.805, 0.486, 0.691, 0.791, 0.588, 0.782, 0.882, 0.511, 0.692, 0.801)
        ),
        "w/o Statistical Init": _by_set(
            (0.441, 0.685, 0.817, 0.506, 0.710, 0.804, 0.609, 0.818, 0.899, 0.517, 0.699, 0.806)
        ),
        "w/o Listwise Reasoning": _by_set(
            (0.427, 0.673, 0.812, 0.494, 0.703, 0.798, 0.600, 0.811, 0.895, 0.512, 0.696, 0.804)
        ),
        "w/o Incremental CoT": _by_set(
            (0.430, 0.678, 0.815, 0.502, 0.707, 0.800, 0.608, 0.819, 0.901, 0.514, 0.697, 0.805)
        ),
    }
)
"""Table 4: H@1, H@3, H@5 by configuration and set."""

REPLACEMENT: Mapping[str, Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "Incremental CoT": _by_set(
            (0.459, 0.700, 0.827, 0.523, 0.722, 0.814, 0.628, 0.832, 0.909, 0.521, 0.705, 0.810)
        ),
        "Full-Replacement CoT": _by_set(
            (0.435, 0.689, 0.820, 0.507, 0.713, 0.807, 0.613, 0.824, 0.904, 0.518, 0.700, 0.807)
        ),
        "StatInit Only": _by_set((0.430, 0.678, 0.815, 0.502, 0.707, 0.800, 0.608, 0.819, 0.901, 0.514, 0.697, 0.805)),
        "No Policy Skill (MemRec)": _by_set(
            (0.400, 0.666, 0.805, 0.487, 0.691, 0.791, 0.588, 0.782, 0.882, 0.511, 0.692, 0.801)
        ),
    }
)
"""Table 5: H@1, H@3, H@5 by configuration and set."""

FIRST_ROUND: Mapping[str, float] = MappingProxyType({"Yelp": 0.046, "MovieTV": 0.020, "Books": 0.044})
"""Figure 6: the only numbers in its text (3.5), the relative gain in H@1 of tau = 1 over tau = 0."""
