"""The decisions of a simulated cluster: pure functions of manifests, and of `now`.

Never waits, reads no clock, draws nothing at random, and changes none of its arguments.
"""
