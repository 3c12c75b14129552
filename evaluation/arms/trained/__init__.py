"""The arms that train a network with the libraries of the extra `eval-trained`, imported only for training."""

from evaluation.arms.trained.arm import LightGcn, LightGcnAndProfile, SasRec

__all__ = ["LightGcn", "LightGcnAndProfile", "SasRec"]
