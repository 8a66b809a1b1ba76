"""The controllers, a module or folder each, under Karmada's names: observe, ask `leeward.core`, carry out, report.

    on the control plane    policies, detector, dependencies_distributor, scheduler, binding, descheduler,
                            workload_rebalancer, autoscaled_templates, namespace_sync, quota_status, quota_sync,
                            cluster, heartbeat, brake, outage, resilience
    for agents              agent_access, agent_certificates, approved_agents
    for one member each     cluster_status, execution, work_status: in the control plane for Push, in the agent for Pull
    for members' proxies    unified_auth, impersonator_works

A folder holds a controller and its parts. Several controllers share `gates`, `removals`, `rendering`, `owned_claims`.

They never import each other: they meet through objects. They are level-triggered and idempotent: a reconciliation
knows only a name, and does the same thing however often it runs.
"""
