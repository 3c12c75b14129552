"""The card of a person: folded from diffs, merged by rule, aged, retrieved for a request, and told as text."""
