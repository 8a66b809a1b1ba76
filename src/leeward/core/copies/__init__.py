"""Copies of an application in clusters: the evidence about each, and the law for taking one away.

    evidence      which reports speak of a copy as it is now, and how many replicas they tell
    availability  how many replicas a copy serves, within bounds
    disruption    the one law for taking replicas away
    lifecycle     its states, and the only ways from one to another
    memory        where it was tried, and since when it is unhealthy or awaited

A copy is wherever a binding has, gets or loses something in a cluster.
"""
