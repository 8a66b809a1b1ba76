"""Evictions as pure decisions: which copies must leave a cluster, how they leave, and when they have left.

    taints ──due_evictions──┐                    ┌──progress──▶ it has ended
    copies ──application────┼──tasks──▶ task ────┼──stalled_replacements──▶ it goes on elsewhere
                            │                    └──withdrawal──▶ it is taken back
                            └──blocked_evictions──▶ why it does not leave

`core.copies` has the evidence that all of them rely upon; `api.purge_mode` and `tasks` have their tables. No taint
drives out shared resources (`shared_resources`), or copies that would leave their volumes behind (`volumes`). A copy's
reported state goes with it (`state_preservation`). Later `failback` brings a copy back to its `original_placement`.
`leeward.core.placement` joins these with scheduling into the one decision that writes a binding.
"""
