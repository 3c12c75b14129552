"""The console: pages in a browser, for the people that skills are about, for operators and for analysts."""
