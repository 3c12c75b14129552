"""Commands that run the whole pipeline on one machine."""
