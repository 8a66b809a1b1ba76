"""Evictions as pure decisions: what must leave a cluster, how it leaves, and when it has left.

    taints ──due_evictions──┐                    ┌──progress──▶ it has ended
    copies ──application────┼──tasks──▶ task ────┼──stalled_replacements──▶ it goes on elsewhere
                            │                    └──withdrawal──▶ it is taken back
                            └──blocked_evictions──▶ why it does not leave

`evidence` is what all of them rely upon; `purge_modes` and `task_reasons` are the tables that they ask. Later
`failback` brings a copy back to its `original_placement`. `leeward.core.placement` joins these with scheduling into
the one decision that writes a binding.
"""
