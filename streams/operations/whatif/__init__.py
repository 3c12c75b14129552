"""What-if: replay the log with other settings."""
