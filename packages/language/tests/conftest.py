"""Hypothesis tries the same examples in every run."""

import hypothesis

hypothesis.settings.register_profile("language", deadline=None, max_examples=40, derandomize=True)
hypothesis.settings.load_profile("language")
