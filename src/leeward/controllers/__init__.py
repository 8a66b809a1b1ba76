"""The controllers, one module each, under Karmada's names where it has them: observe, ask `leeward.core`, carry out,
report.

    on the control plane    policies, detector, dependencies_distributor, scheduler, binding, descheduler,
                            workload_rebalancer, autoscaled_templates, namespace_sync, quota_status, quota_sync,
                            cluster, heartbeat, brake, outage, resilience
    for agents              agent_access, agent_certificates, approved_agents
    for one member each     cluster_status, execution, work_status: in the control plane for Push, in the agent for Pull
    for members' proxies    unified_auth, impersonator_works

All other modules are what these are made of.

They never import each other: they meet through objects. They are level-triggered and idempotent: a reconciliation
knows only a name, and does the same thing however often it runs.
"""
