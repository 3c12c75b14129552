"""How far more workers do more, and what it costs when one comes or goes."""
