"""`sager eval paper`: the experiments of section 3, by the worker's own steps in `paper` mode."""
