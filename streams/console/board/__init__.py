"""The operator's and the analyst's pages: what a deployment does, and what it has learned.

Readers turn a connection to the snapshot, or what processes tell Prometheus, into figures and tables; pages put them
into templates. Nothing here asks anything while nobody looks.
"""
