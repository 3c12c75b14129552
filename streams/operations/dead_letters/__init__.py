"""What an operator does with dead letters: look at them (`reading`), send their originals again (`replay`).

Kafka is the only memory of it. A replayed record carries a header that names its dead letter, and the dead letter is
put on its topic a second time with a header that tells where it went: whoever counts dead letters by their id counts
it once, and nothing else has to be kept anywhere.
"""
