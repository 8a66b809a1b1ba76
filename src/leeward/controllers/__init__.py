"""The controllers, one module each, under Karmada's names: observe, ask `leeward.core`, carry out, report.

On the control plane: `detector`, `scheduler`, `binding`, `cluster`, `namespace_sync`.
For one member cluster each (in the control plane for Push, in the agent for Pull): `cluster_status`, `execution`,
`work_status`.

They never import each other: they meet through objects. They are level-triggered and idempotent: a reconciliation
knows only a name, and does the same thing however often it runs.
"""
