"""`sager eval`: how well skills rank and learn, on real data and on simulated users."""
