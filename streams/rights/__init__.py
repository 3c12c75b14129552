"""A person's rights over their learned data: commands, export, import and verification."""
