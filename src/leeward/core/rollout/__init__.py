"""Staged propagation: the revision of a binding that each cluster is to have, while a change goes from stage to stage.

    revision            contents of Works but for replicas, by their digest
    state               memory of a rollout in annotations of the binding
    stages              clusters of each stage of the strategy
    standings           revision that each cluster has, and whether it serves
    rollout_decision    words of a decision: reasons, and the standing of each cluster
    staged_revisions    revision that each cluster is to have now, and why: start reading here
    told                condition that says all this

A binding without a strategy is not looked at.
"""
