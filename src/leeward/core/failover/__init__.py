"""Failover as pure decisions: is a cluster alive, how is it tainted, what must leave it, and when has it left.

    probes ──health──> Ready ──taints──> taints ──eviction──> what must go ──graceful──> what has gone
    leases ──liveness─┘

`leeward.core.placement` joins the last two with scheduling into the one decision that writes a binding.

Never looks at the world: what was seen, and `now`, are arguments.
"""
