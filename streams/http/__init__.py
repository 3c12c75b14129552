"""The HTTP API for consoles and advocates (`sager serve`): reads what was learned about users, and changes it."""
