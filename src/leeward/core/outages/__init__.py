"""Outages of clusters as stories: what is observed is folded into one record for each outage, an `Outage` object.

    sight         what is seen of one application, as far as an outage of one cluster concerns it
    observation   what is seen of a cluster and its applications at one instant
    record        the record of an outage; made from an object, and rendered as one, within bounds
    fold          a record and an observation make the next record
    applications  the part of it that is about applications
    outage_steps  what happened when
    writing       when a record is written
    recovery      how long applications took: median, worst

Decides nothing about clusters or bindings: who reads a record learns what was decided. Holds: S19.
"""
