"""Fault histories: what users do and what fails, drawn from a seed, played in a `World`, and checked at every write.

    seed ──generator──▶ History ──playing──▶ Run: violations, rare situations, trace hash
                           ▲                   │
                           └─────shrinking─────┘──story_text──▶ a short story

A history is data: it can be printed, cut down and replayed. Start reading at `model.py`, then `playing.py`.
"""
