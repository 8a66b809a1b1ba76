"""Fields of Clusters, and of policies about their taints."""

from collections.abc import Mapping
from typing import Final

CLUSTER_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "ClusterSpec": {
        "id": "Identity of the cluster: the uid of its Namespace kube-system. One cluster joins once.",
        "syncMode": "Push: the control plane reaches the member. Pull: an agent there reaches the control plane.",
        "apiEndpoint": "URL of the member's API server.",
        "secretRef": "The Secret with the credential for the member: token, and caBundle or caData.",
        "impersonatorSecretRef": "The Secret with the token by which users reach the member through the cluster proxy.",
        "insecureSkipTLSVerification": "Whether the member's certificate is not verified. Not for production.",
        "proxyURL": "URL of a proxy on the way to the member, as http://host:port or socks5://host:port.",
        "proxyHeader": "Headers for that proxy.",
        "provider": "The provider of the cluster, to spread and select by.",
        "region": "The region of the cluster, to spread and select by.",
        "zone": "The zone of the cluster. Deprecated: use zones.",
        "zones": "The zones of the cluster, to spread and select by.",
        "taints": "Taints, which keep workloads away or evict them, unless they are tolerated.",
        "resourceModels": "Grades of nodes, by which the room in the cluster is estimated.",
    },
    "ResourceModel": {
        "grade": "Number of the grade, from 0 on; a higher one is a larger node.",
        "ranges": "What a node of this grade has of each resource.",
    },
    "ResourceModelRange": {
        "name": "The resource: cpu, memory, ...",
        "min": "At least so much.",
        "max": "Less than so much.",
    },
    "ClusterStatus": {
        "kubernetesVersion": "Version of the member's API server.",
        "apiEnablements": "The kinds that the member serves, by group and version.",
        "conditions": "Conditions of the cluster. Ready says whether it is alive and serves.",
        "nodeSummary": "How many nodes it has.",
        "resourceSummary": "How much room it has.",
        "remedyActions": "Actions that Remedy objects ask for at the moment.",
    },
    "APIEnablement": {
        "groupVersion": "Group and version, as apps/v1.",
        "resources": "The resources that are served in it.",
    },
    "APIResource": {"name": "Name of the resource in URLs, in the plural.", "kind": "The kind of its objects."},
    "NodeSummary": {"totalNum": "How many nodes there are.", "readyNum": "How many of them are ready."},
    "ResourceSummary": {
        "allocatable": "What all nodes offer to Pods.",
        "allocating": "What Pods ask for that have no node yet.",
        "allocated": "What Pods ask for that have a node.",
        "allocatableModelings": "How many nodes of each grade have room, by the resource models.",
    },
    "AllocatableModeling": {"grade": "The grade of the resource model.", "count": "How many nodes have so much left."},
    "ClusterTaintPolicySpec": {
        "targetClusters": "The clusters that the policy is about; without it all.",
        "addOnConditions": "When all of these match, the taints are added; an empty list never matches.",
        "removeOnConditions": "When all of these match, the taints are removed; an empty list never matches.",
        "taints": "The taints that are added and removed.",
    },
    "MatchCondition": {
        "conditionType": "The type of a condition of the Cluster, as Ready.",
        "operator": "In or NotIn: whether the condition's status has to be among the values, or not.",
        "statusValues": "The values: True, False, Unknown.",
    },
    "PolicyTaint": {
        "key": "The key of the taint.",
        "effect": "NoSchedule keeps new workloads away, NoExecute also evicts those that are there.",
        "value": "The value of the taint, if it has one.",
    },
    "FederatedResourceQuotaSpec": {
        "overall": "How much the namespace may use of each resource in all clusters together.",
        "staticAssignments": "How much of that it may use in single clusters: a ResourceQuota is kept there.",
    },
    "StaticClusterAssignment": {
        "clusterName": "The cluster.",
        "hard": "How much the namespace may use there, by resource.",
    },
    "FederatedResourceQuotaStatus": {
        "overall": "The limits that count at the moment.",
        "overallUsed": "How much of them is used in all clusters together.",
        "aggregatedStatus": "Limits and use in each cluster that was assigned some.",
    },
    "ClusterQuotaStatus": {"clusterName": "The cluster.", "hard": "The limits there.", "used": "What is used there."},
}
