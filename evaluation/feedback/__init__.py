"""How fast a person is understood who answers in words: the three-pass protocol of PAHF (arXiv 2602.16173)."""
