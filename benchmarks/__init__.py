"""What we measure: quality and throughput. The tests measure nothing; figures of time are ratios of one run."""
