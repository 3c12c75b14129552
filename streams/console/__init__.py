"""The console: web pages for users, operators and analysts."""
