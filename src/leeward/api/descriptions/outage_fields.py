"""Fields of Outages."""

from collections.abc import Mapping
from typing import Final

_COUNTS: Final[Mapping[str, str]] = {
    "due": "Applications that are still assigned to the cluster, and leave when their time comes.",
    "held": "Applications whose eviction is due and held back: somebody is needed.",
    "kept": "Applications that stay, since nothing would be gained, or because they tolerate the outage.",
    "moving": "Applications that have left, and whose replacement is not healthy yet.",
    "moved": "Applications whose replacement is healthy.",
    "returned": "Applications whose copy in the cluster serves again.",
}

OUTAGE_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "OutageSpec": {"cluster": "The cluster that was lost.", "since": "The first look that did not find it well."},
    "OutageStatus": {
        **_COUNTS,
        "phase": "Running until the cluster is Ready again, Returned until it is cleaned up, then Over.",
        "lasted": "How long the cluster was away; running until it has returned.",
        "reason": "The reason of its condition Ready.",
        "message": "The message of its condition Ready.",
        "failedAt": "When it began to fail, the last time.",
        "notReadyAt": "When Ready turned.",
        "noExecuteAt": "When the taint was set that evicts.",
        "returnedAt": "When it was Ready again.",
        "cleanedAt": "When the last old copy there was removed.",
        "failures": "How often it has failed in this outage.",
        "braked": "Whether the brake was engaged meanwhile.",
        "applications": "How many applications were there.",
        "recovery": "How long it took, from the first failure until a replacement was healthy.",
        "steps": "What has happened, in order.",
        "omittedSteps": "How many steps were left out, after the first ones.",
        "curve": "How many applications were in which state, over time.",
        "listed": "The applications, who needs somebody first, as many as there is room for.",
    },
    "OutageStep": {
        "at": "When it happened.",
        "kind": "What happened.",
        "reason": "Why, in one CamelCase word.",
        "message": "Why, for people.",
        "until": "Until when it went on.",
        "applications": "How many applications it concerns.",
        "to": "The clusters that they went to.",
        "toleratedSeconds": "How long these tolerate the taint.",
        "healthy": "How many of them have a healthy replacement.",
        "healthyAt": "When the last of these was healthy.",
    },
    "OutageCounts": {**_COUNTS, "at": "The instant that the numbers are of."},
    "OutageApplication": {
        "kind": "The kind of the application.",
        "namespace": "The namespace of the application, if it has one.",
        "name": "The name of the application.",
        "state": "Due, Held, Kept, Moving, Moved or Returned.",
        "replicas": "How many replicas it had in the cluster.",
        "to": "How many replicas other clusters got for them.",
        "toleratedSeconds": "How long it tolerates the taint that evicts; without it for ever.",
        "dueAt": "When it is to leave.",
        "leftAt": "When it has left.",
        "healthyAt": "When its replacement was healthy.",
        "recoverySeconds": "How long that took, from the first failure on.",
        "reason": "Why it is held or kept, in one CamelCase word.",
        "message": "Why it is held or kept, for people.",
        "told": "When the steps were that last told of it as held or kept, by reason.",
    },
    "RecoveryTimes": {
        "count": "How many applications have recovered.",
        "medianSeconds": "Half of them took no longer than this.",
        "worstSeconds": "The longest that one took.",
        "worst": "The application that took longest.",
        "times": "All of the times, in coarser steps where there are many.",
    },
    "RecoveryCount": {"seconds": "How long.", "count": "So many applications took so long."},
}
