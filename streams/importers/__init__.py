"""Readers of data sets, by mappings of their columns."""

from streams.importers.dataset import Dataset, LoggedList, Visit
from streams.importers.loader import load
from streams.importers.mapping import DataSetError

__all__ = ["DataSetError", "Dataset", "LoggedList", "Visit", "load"]
