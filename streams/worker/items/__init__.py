"""The items' side of the graph: `shared` is every worker's copy of all items, `owner` writes a partition's items."""
