"""`sager eval`: how well skills rank and learn."""
