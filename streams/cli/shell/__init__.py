"""`sager sql` without a query: a prompt that completes, keeps Ctrl-C to the query, and follows newer snapshots."""
