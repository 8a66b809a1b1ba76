"""The whole product in one process on virtual time: control plane, members, agents, and the faults between them.

Never opens a socket, starts a thread, or reads the machine's clock.
"""
