"""The HTTP API of consoles and advocates: what is learned of a user, and a person's changes to it. `sager serve`."""
