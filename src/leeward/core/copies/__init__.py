"""Copies of an application in clusters: what is known of each.

    evidence      which reports speak of a copy as it is now, and how many replicas they tell
    availability  how many replicas a copy serves, within bounds

A copy is wherever a binding has, gets or loses something in a cluster.
"""
