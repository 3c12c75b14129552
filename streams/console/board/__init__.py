"""The pages of operators and analysts: a deployment's processes, dead letters and costs, and its learning."""
