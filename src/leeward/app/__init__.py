"""The composition: the only place where concrete parts are joined.

`control_plane`, `member` and `agent` each build one component from its `config` and run it until it is cancelled;
`local` keeps a fleet of them as processes on one machine; `demo` tells a failover on such a fleet.

Never decides anything about workloads or clusters.
"""
