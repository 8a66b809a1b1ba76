"""Lint: why a failover would not fire, or not help, found in manifests before an outage finds it.

    files         reads manifests, with the lines on which their fields stand
    live          reads templates of a control plane, with GETs only
    picture       what rules look at: policies, templates, who claims what, and the clusters, where they are known
    *_rules       the rules: pure functions of a picture
    rule_table    all rules, with their ids; docs/lint.md is rendered from it
    checking      asks the rules; sarif renders what they found for machines

A rule asks the functions that decide in production: which policy claims a template, which clusters a placement allows,
how long a copy stays under taints. Nothing here writes to a control plane. Start reading at `rule_table`.
"""
