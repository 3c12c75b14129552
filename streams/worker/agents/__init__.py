"""The agents: glue that decodes, fences, calls one operator and sends. No rule lives here."""
