"""The online evaluation: plays users' sequences of choices through the running pipeline."""
