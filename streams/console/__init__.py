"""The console: pages in a browser for users and their advocates, for operators and for analysts."""
