"""The ports by which operators read and guard language; without a package there are no rules."""
