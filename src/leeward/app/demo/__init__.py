"""The demonstration: a cluster dies and its applications move, on a real fleet, told as it is seen.

`scene` is what a user could see with kubectl now; `story` says what must be seen, in which order; `stage` moves the
fleet and follows its API servers. Nothing here knows how the failover works: it only looks.
"""
