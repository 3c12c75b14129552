"""What-if: replay the log with other settings, and run a shadow deployment beside the live one."""
