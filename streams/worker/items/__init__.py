"""The items' side of the graph in a worker: one store that all workers follow, and that each item's owner writes.

`store` holds what is on the log, `log` reads it, `shared` is what agents ask, `owner` is the one who writes.
"""
