"""A person's card: folded from diffs, merged by rule, faded by age, selected for a request."""
