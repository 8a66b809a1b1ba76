"""The decisions: pure, synchronous, deterministic functions of a snapshot and of `now`.

    propagation      which policy claims a template, and what binding results
    dependencies     what of the template's names follows it
    placement        the one decision about a binding, of the next three
    scheduling       where replicas go
    cluster_health   whether a cluster is alive, and how it is tainted
    eviction         what leaves a cluster, and when it has left
    execution        what a Work must contain, and what a member's object must keep
    overrides        what becomes of a manifest in each cluster
    interpreter      what a kind means
    quota            how much the workloads of a namespace may ask for
    outages          the story of each outage, as it is told

Controllers, small worlds and answers run the same functions. This package never does I/O, never waits, reads no clock,
draws no random number, logs nothing. Outcomes are frozen values; another package carries them out.
"""
