"""The decisions: pure, synchronous, deterministic functions of a snapshot and of `now`.

Which policy claims a template (`propagation`), where replicas go (`scheduling`), what a Work must contain and what a
member's object must keep (`execution`), what a kind means (`interpreter`), whether a cluster is alive
(`cluster_health`), what leaves it and when (`eviction`), and all that as one decision about a binding (`placement`).
The same functions run in the controllers, in the search of small worlds, and in the answers.

This package never does I/O, never waits, reads no clock, draws no random number, logs nothing. Outcomes are frozen
values; another package carries them out.
"""
