"""Fields of bindings and Works."""

from collections.abc import Mapping
from typing import Final

BINDING_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "ResourceBindingSpec": {
        "resource": "The template that the binding is for.",
        "clusters": "The clusters that the template was placed in, with the replicas of each. The scheduler writes it.",
        "replicas": "How many replicas the template asks for.",
        "replicaRequirements": "What one replica needs.",
        "components": "The parts of a workload that has several. Needs a feature gate.",
        "placement": "Where the template may go, as its policy says.",
        "gracefulEvictionTasks": "The clusters that the template is leaving; its copies stay until others are healthy.",
        "requiredBy": "The bindings that need this one as a dependency, and where.",
        "propagateDeps": "Whether what the template names follows it.",
        "schedulerName": "The scheduler that places the template.",
        "failover": "When and how copies move to other clusters.",
        "conflictResolution": "What is done where an object of the same name is in a member: Abort, or Overwrite it.",
        "rescheduleTriggeredAt": "A later instant than that of the last placement has the template placed afresh.",
        "suspension": "What is held back for the time being.",
        "preserveResourcesOnDeletion": "Whether members keep their objects when the template is deleted.",
        "schedulePriority": "How urgent it is to place the template.",
        "workloadAffinityGroups": "The groups that the template belongs to. Needs a feature gate.",
    },
    "BindingResource": {
        "apiVersion": "Group and version of the template.",
        "kind": "The kind of the template.",
        "namespace": "The namespace of the template, if it has one.",
        "name": "The name of the template.",
        "uid": "The uid of the template.",
        "resourceVersion": "The version of the template that the binding was made from.",
    },
    "TargetCluster": {
        "name": "The name of the cluster.",
        "replicas": "How many replicas it was assigned.",
        "components": "How many replicas of each component it was assigned.",
    },
    "TargetComponent": {
        "name": "The name of the component.",
        "replicas": "How many replicas of it.",
    },
    "Component": {
        "name": "The name of the component, unique in the workload.",
        "replicas": "How many replicas it asks for.",
        "replicaRequirements": "What one replica of it needs.",
    },
    "ComponentReplicaRequirements": {
        "nodeClaim": "What kind of node it needs.",
        "resourceRequest": "How much it needs of each resource.",
        "priorityClassName": "The PriorityClass of its Pods.",
    },
    "ReplicaRequirements": {
        "namespace": "The namespace whose quotas count.",
    },
    "NodeClaim": {
        "hardNodeAffinity": "The node affinity that is required.",
        "nodeSelector": "Labels that a node has to have.",
        "tolerations": "The taints of nodes that are tolerated.",
    },
    "GracefulEvictionTask": {
        "fromCluster": "The cluster that is left.",
        "reason": "Why, in one CamelCase word, for programs.",
        "producer": "Who has decided it.",
        "purgeMode": "Gracefully: the copy goes when another is healthy. Directly: at once. Never: it stays.",
        "replicas": "How many replicas leave.",
        "message": "Why, for people.",
        "gracePeriodSeconds": "How long the copy waits for its replacement; without it as long as the flag says.",
        "suppressDeletion": "True: the copy stays until this is taken back. False: it goes now.",
        "creationTimestamp": "When it was decided.",
        "preservedLabelState": "Labels that the replacement gets, from the copy's status.",
        "clustersBeforeFailover": "Where the template was before.",
    },
    "BindingSnapshot": {
        "namespace": "The namespace of the binding, if it has one.",
        "name": "The name of the binding.",
        "clusters": "Where that binding is placed.",
    },
    "BindingSuspension": {
        "dispatching": "Whether nothing is written into members; what is there stays as it is.",
        "dispatchingOnClusters": "The same for some clusters.",
        "scheduling": "Whether the template is not placed, nor moved.",
    },
    "BindingSchedulePriority": {
        "priority": "The priority; the highest is placed first.",
    },
    "WorkloadAffinityGroups": {
        "affinityGroup": "The group whose templates go to the same clusters.",
        "antiAffinityGroup": "The group whose templates go to different clusters.",
    },
    "ResourceBindingStatus": {
        "schedulerObservedGeneration": "The generation of the binding that was placed last.",
        "schedulerObservingAffinityName": "The group of clusters of spec.placement.clusterAffinities that was taken.",
        "lastScheduledTime": "When the template was placed last.",
        "conditions": "Conditions: Scheduled, FullyApplied, and those of Leeward under leeward.dev.",
        "aggregatedStatus": "What each cluster reports of its copy.",
    },
    "AggregatedStatusItem": {
        "clusterName": "The name of the cluster.",
        "status": "The status of the copy there, as far as it is reported.",
        "applied": "Whether the copy was written as it is to be.",
        "appliedMessage": "Why it was not.",
        "health": "Healthy, Unhealthy, or Unknown.",
    },
    "WorkSpec": {
        "workload": "The objects that the member has to have.",
        "suspendDispatching": "Whether nothing is written into the member; what is there stays as it is.",
        "preserveResourcesOnDeletion": "Whether the member keeps the objects when the Work is deleted.",
    },
    "WorkloadTemplate": {
        "manifests": "The objects, as they are to be in the member.",
    },
    "WorkStatus": {
        "conditions": "Conditions: Applied, and others.",
        "manifestStatuses": "What the member reports of each object.",
    },
    "ManifestStatus": {
        "identifier": "Which object it is.",
        "status": "The status of the object, as far as it is reported.",
        "health": "Healthy, Unhealthy, or Unknown.",
    },
    "ResourceIdentifier": {
        "ordinal": "The place of the object in spec.workload.manifests.",
        "group": "The group of the object.",
        "version": "The version of the object.",
        "kind": "The kind of the object.",
        "resource": "The name of its kind in URLs, in the plural.",
        "namespace": "The namespace of the object, if it has one.",
        "name": "The name of the object.",
    },
}
