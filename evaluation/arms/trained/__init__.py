"""The arms that train a network, by the libraries of the extra `eval-trained`; which are only imported to train."""

from evaluation.arms.trained.arm import LightGcn, LightGcnAndProfile, SasRec

__all__ = ["LightGcn", "LightGcnAndProfile", "SasRec"]
