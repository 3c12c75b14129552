"""What if: skills as other knobs would have shaped them, offline (`sager replay`) and live (shadow arms)."""
