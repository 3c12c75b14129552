"""The stream evaluation: users' choices one after another, learned from by the worker's own steps, in one process."""
