"""The HTTP API of `sager serve`."""
