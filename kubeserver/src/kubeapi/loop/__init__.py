"""The clock, the supervisor, and seeded randomness: what every asynchronous part is given, and nothing else.

Real and virtual time are told apart only here. This package never talks to the outside world.
"""
