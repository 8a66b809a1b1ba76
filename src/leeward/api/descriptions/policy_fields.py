"""Fields of PropagationPolicy and ClusterPropagationPolicy."""

from collections.abc import Mapping
from typing import Final

POLICY_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "PropagationSpec": {
        "resourceSelectors": "The templates that the policy is for; one of the selectors has to match.",
        "placement": "To which clusters the templates go, and how replicas are divided among them.",
        "association": "Deprecated, and without effect: use propagateDeps.",
        "propagateDeps": "Whether what a template names (ConfigMaps, Secrets, ...) follows it to its clusters.",
        "priority": "Of several policies that match a template equally well the one with the highest priority wins.",
        "preemption": "Always: the policy takes templates over from policies of lower priority. Needs a feature gate.",
        "dependentOverrides": "Override policies that have to be there before the policy takes effect.",
        "schedulerName": "The scheduler that places the templates.",
        "failover": "When and how copies move to other clusters.",
        "conflictResolution": "What is done where an object of the same name is in a member: Abort, or Overwrite it.",
        "activationPreference": "Lazy: a changed policy takes effect for a template when that changes. Empty: at once.",
        "suspension": "What is held back for the time being.",
        "preserveResourcesOnDeletion": "Whether members keep their objects when the template is deleted.",
        "schedulePriority": "In which order bindings are placed that wait.",
    },
    "ResourceSelector": {
        "apiVersion": "Group and version of the templates.",
        "kind": "The kind of the templates.",
        "namespace": "Their namespace; empty means that of the policy, or all for a cluster-wide policy.",
        "name": "The name of one template; empty means all that the other fields match.",
        "labelSelector": "The labels of the templates. Without effect where a name is given.",
    },
    "Placement": {
        "clusterAffinity": "The clusters that may be chosen; without any affinity all.",
        "clusterAffinities": "Groups of clusters, tried in this order; the first that fits is taken.",
        "clusterTolerations": "The taints of clusters that are tolerated.",
        "spreadConstraints": "Over how many clusters, zones, regions, providers or labels copies are spread.",
        "replicaScheduling": "How replicas are divided among the clusters that were chosen.",
        "workloadAffinity": "Which templates go to the same clusters, or to different ones. Needs a feature gate.",
    },
    "ClusterAffinity": {
        "clusterNames": "Names of clusters; empty means all.",
        "exclude": "Names of clusters that are left out.",
        "labelSelector": "The labels of the clusters.",
        "fieldSelector": "Fields of the clusters: provider, region and zone.",
    },
    "NamedClusterAffinity": {
        "affinityName": "A name for the group, by which the status says where the search has come."
    },
    "ClusterAffinityTerm": {
        "overflowAffinities": "Further clusters for what the group has no room for, tried in this order."
    },
    "FieldSelector": {"matchExpressions": "Requirements on provider, region and zone, which all have to hold."},
    "SpreadConstraint": {
        "spreadByField": "What a group is: cluster, zone, region or provider. Either this or spreadByLabel.",
        "spreadByLabel": "The label of clusters whose values are the groups. Either this or spreadByField.",
        "minGroups": "At least so many groups are chosen; with fewer nothing is placed.",
        "maxGroups": "At most so many groups are chosen; 0 means any number.",
    },
    "ReplicaSchedulingStrategy": {
        "replicaSchedulingType": "Duplicated: each cluster gets all replicas. Divided: they are shared out.",
        "replicaDivisionPreference": "Aggregated: into as few clusters as possible. Weighted: by weight.",
        "weightPreference": "The weights for Weighted; without them all clusters weigh the same.",
    },
    "ClusterPreferences": {
        "staticWeightList": "Weights of clusters. Whoever is in none gets nothing.",
        "dynamicWeight": "AvailableReplicas: clusters weigh as many replicas as they have room for.",
    },
    "StaticClusterWeight": {"targetCluster": "The clusters that have the weight.", "weight": "The weight, 1 or more."},
    "WorkloadAffinity": {
        "affinity": "Templates of one group go to the same clusters.",
        "antiAffinity": "Templates of one group go to different clusters.",
    },
    "WorkloadAffinityTerm": {"groupByLabelKey": "The label of templates whose value names the group."},
    "FailoverBehavior": {
        "application": "For workloads that stay unhealthy in a cluster; without it they stay.",
        "cluster": "For clusters with a NoExecute taint that is not tolerated.",
    },
    "ApplicationFailover": {
        "decisionConditions": "When a copy counts as failed.",
        "purgeMode": "Gracefully: the old copy goes when the new one is healthy. Directly: at once. Never: it stays.",
        "gracePeriodSeconds": "How long the old copy waits for the new one, for Gracefully.",
        "statePreservation": "What of the old copy's status the new one gets as labels.",
    },
    "DecisionConditions": {"tolerationSeconds": "How long a copy has to be unhealthy before it moves."},
    "ClusterFailover": {
        "purgeMode": "Gracefully: the old copy goes when the new one is healthy. Directly: at once.",
        "statePreservation": "What of the old copy's status the new one gets as labels.",
    },
    "StatePreservation": {"rules": "The rules, one for each label."},
    "StatePreservationRule": {
        "aliasLabelName": "The label that the new copy gets.",
        "jsonPath": "Where in the old copy's status the value stands, as {.jobStatus.jobID}.",
    },
    "Suspension": {
        "dispatching": "Whether nothing is written into members; what is there stays as it is.",
        "dispatchingOnClusters": "The same for some clusters.",
    },
    "SuspendClusters": {"clusterNames": "The clusters."},
    "SchedulePriority": {
        "priorityClassSource": "What is named: KubePriorityClass, a PriorityClass of Kubernetes.",
        "priorityClassName": "The name of the priority class, whose value counts.",
    },
}
