"""Health of clusters as pure decisions: is it alive, how is it tainted, and what holds all of that.

    probe ──ready_condition, pending_condition──▶ Ready ──condition_taints──▶ taints ◀──taint_policy
    leases ──monitor_grace_period──┘                            ▲
                                        brake, flap_damping, watched_time

`outage` says what an unhealthy cluster means for a binding; `summary` and `modeling` what room a healthy one has.
Never looks at the world: what was seen, and `now`, are arguments.
"""
