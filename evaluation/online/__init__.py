"""How skills grow while they are used: users' own sequences of choices through the running pipeline."""
