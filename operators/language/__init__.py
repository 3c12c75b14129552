"""The ports through which operators read and guard the language of people.

`streams` wires them to the package `sager-language`; without one, an operator has no rules of its own.
"""
