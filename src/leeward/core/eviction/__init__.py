"""Evictions as pure decisions: what must leave a cluster, how it leaves, and when it has left.

    taints ──due_evictions──┐                    ┌──progress──▶ it has ended
    copies ──application────┼──tasks──▶ task ────┼──stalled_replacements──▶ it goes on elsewhere
                            │                    └──withdrawal──▶ it is taken back
                            └──blocked_evictions──▶ why it does not leave

`core.copies` says what all of them rely upon; `api.purge_mode` and `tasks` have their tables. What others
live in (`shared_resources`) and what would leave its volumes behind (`volumes`) no taint drives out; what a copy has
reported goes with it (`state_preservation`). Later `failback` brings a copy back to its `original_placement`.
`leeward.core.placement` joins these with scheduling into the one decision that writes a binding.
"""
