"""The arms by name, in the order in which reports list them."""
