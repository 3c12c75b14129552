"""Cards measured on conversations: read, invented, played through the operators, and what comes of it."""
