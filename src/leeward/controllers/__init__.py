"""The controllers, one module each, under Karmada's names: observe, ask `leeward.core`, carry out, report.

On the control plane: `policies`, `detector`, `scheduler`, `binding`, `cluster`, `brake`, `workload_rebalancer`,
`namespace_sync`, `agent_access`.
For one member cluster each (in the control plane for Push, in the agent for Pull): `cluster_status`, `execution`,
`work_status`.

They never import each other: they meet through objects. They are level-triggered and idempotent: a reconciliation
knows only a name, and does the same thing however often it runs.
"""
