"""Views of skills, lines and cards for people, programs and models."""
