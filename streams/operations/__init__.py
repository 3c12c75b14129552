"""What an operator runs: the doctor, dead letters, access rules, rebuilding, global skills."""
