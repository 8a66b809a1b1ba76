"""Parts that Karmada's controllers share: the context that they are given, interpreters, indexes of policies, probes,
shards and metrics.

Informers, queues and the loop that reconciles are those of `controller_runtime`. Never decides anything: that is
`leeward.core`.
"""
