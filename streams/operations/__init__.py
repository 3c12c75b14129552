"""Operators' tools: doctor, dead letters, access rules, rebuild, global skills."""
