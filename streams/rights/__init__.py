"""A person's rights over what was learned about them: commands, export and import, verification."""
