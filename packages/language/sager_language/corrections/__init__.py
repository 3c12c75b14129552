"""Corrections of shown items, read by rules in English and German."""

from sager_language.corrections.reader import Correction, Why, is_about_another, is_unread, read_correction, warm
from sager_language.corrections.reading import Read
from sager_language.corrections.vocabulary import joined

__all__ = ["Correction", "Read", "Why", "is_about_another", "is_unread", "joined", "read_correction", "warm"]
