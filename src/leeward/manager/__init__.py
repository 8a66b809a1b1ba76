"""Controllers that run together: those of a control plane, and those of one member cluster.

The one composition of controllers. It is run by the process that is all in one (`app.control_plane`), by processes of
which those that lead work (`app.component`), by agents (`app.agent`), and by the simulated world (`sim.world`). Never
opens a connection: how to reach a member is an argument.
"""
