"""The three-pass protocol of PAHF for verbal feedback (arXiv 2602.16173)."""
