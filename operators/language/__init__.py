"""The ports by which operators read and guard language."""
