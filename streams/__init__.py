"""How it runs: the Faust worker and its agents, the materializer, the client SDK and the command line."""
