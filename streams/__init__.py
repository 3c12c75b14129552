"""The processes: worker, materializer, API, and command line."""
