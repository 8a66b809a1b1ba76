"""Which controllers run together: those of a control plane, and those of one member cluster.

The same for the all-in-one process, for an agent, and for the simulated world. Never opens a connection: how to reach
a member is an argument.
"""
