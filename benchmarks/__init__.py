"""What we measure: quality and throughput. Never run by the tests; figures are ratios of one run."""
