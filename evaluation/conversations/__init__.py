"""The correct and forbidden content of cards after conversations."""
