"""Health of clusters as pure decisions: is it alive, how is it tainted, and does the brake hold evictions.

    probe ──ready_condition, pending_condition──▶ Ready ──condition_taints──▶ taints ◀──taint_policy
    leases ──monitor_grace_period──┘                            ▲
                                        brake, flap_damping, watched_time

`outage` gives the meaning of an unhealthy cluster for a binding; `summary` and `modeling` the room of a healthy one.
Never looks at the world: observations and `now` are arguments.
"""
