"""Fields that several kinds have."""

from collections.abc import Mapping
from typing import Final

OBJECT_FIELDS: Final[Mapping[str, str]] = {
    "apiVersion": "Group and version of the schema that the object is written in.",
    "kind": "The kind of the object, in CamelCase.",
    "spec": "What is asked for.",
    "status": "What was observed last. It is written by controllers.",
}
"""Fields of every object; metadata is described by the API server, and may not be here."""

SHARED_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "LabelSelector": {
        "matchLabels": "Labels that all have to be there with these values.",
        "matchExpressions": "Further requirements, which all have to hold.",
    },
    "LabelSelectorRequirement": {
        "key": "The key that the requirement is about.",
        "operator": "How the key is compared with the values: In, NotIn, Exists or DoesNotExist.",
        "values": "The values for In and NotIn; none for the others.",
    },
    "NodeSelector": {"nodeSelectorTerms": "Terms, of which one has to match."},
    "NodeSelectorTerm": {
        "matchExpressions": "Requirements on the labels of nodes, which all have to hold.",
        "matchFields": "Requirements on fields of nodes, which all have to hold.",
    },
    "Taint": {
        "key": "The key of the taint.",
        "value": "The value of the taint, if it has one.",
        "effect": "NoSchedule and PreferNoSchedule keep new workloads away, NoExecute also evicts what is there.",
        "timeAdded": "When the taint was added. Tolerations for a time run from here.",
    },
    "Toleration": {
        "key": "The key of the taints that are tolerated; empty, with the operator Exists, means all.",
        "operator": "Equal compares the value as well, Exists does not. Equal where nothing is said.",
        "value": "The value of the taints that are tolerated, for the operator Equal.",
        "effect": "The effect of the taints that are tolerated; empty means every effect.",
        "tolerationSeconds": "How long a NoExecute taint is tolerated; without it for ever, 0 and less not at all.",
    },
    "Condition": {
        "type": "What the condition is about, in CamelCase.",
        "status": "True, False or Unknown.",
        "reason": "Why it is so, in one CamelCase word, for programs.",
        "message": "Why it is so, for people.",
        "lastTransitionTime": "When the status changed last.",
        "observedGeneration": "The generation of the object that the condition is about.",
    },
    "LocalSecretReference": {"namespace": "The namespace of the Secret.", "name": "The name of the Secret."},
    "CustomizationTarget": {
        "apiVersion": "Group and version of the kind that is interpreted.",
        "kind": "The kind that is interpreted.",
    },
    "LuaScript": {"luaScript": "The script, in Lua. It has to define the function of its operation."},
    "CustomizationRules": {
        "retention": "What of a member's object is kept when it is updated. Function: Retain.",
        "replicaResource": "How many replicas a template asks for, and what one of them needs. Function: GetReplicas.",
        "replicaRevision": "The template with another number of replicas. Function: ReviseReplica.",
        "statusReflection": "What of a member's object is reported. Function: ReflectStatus.",
        "statusAggregation": "The template's status, from those of all clusters. Function: AggregateStatus.",
        "healthInterpretation": "Whether a member's object is healthy. Function: InterpretHealth.",
        "dependencyInterpretation": "The objects that a template needs where it goes. Function: GetDependencies.",
        "componentResource": "The components of a workload of several parts. Function: GetComponents.",
    },
    "ResourceInterpreterCustomizationSpec": {
        "target": "The kind that the scripts are about.",
        "customizations": "The scripts, one for each operation. Without one the next interpreter is asked.",
    },
    "ResourceInterpreterWebhookConfiguration": {
        "webhooks": "The webhooks, each with the kinds and operations that it is asked about."
    },
    "ResourceInterpreterWebhook": {
        "name": "A name with dots, for logs and events.",
        "clientConfig": "Where the webhook is.",
        "rules": "What it is asked about.",
        "timeoutSeconds": "After how many seconds a question counts as failed, 1 to 30.",
        "interpreterContextVersions": "Versions of the exchange that it knows, the preferred one first.",
    },
    "WebhookClientConfig": {
        "url": "Where the webhook is, as https://host:port/path; either this or service.",
        "service": "The Service of the webhook; either this or url.",
        "caBundle": "Certificates, as PEM, of who has to have signed that of the webhook.",
    },
    "ServiceReference": {
        "namespace": "The namespace of the Service.",
        "name": "The name of the Service.",
        "path": "The path of the URL.",
        "port": "The port of the Service.",
    },
    "RuleWithOperations": {
        "operations": "The operations that it is asked about, as InterpretReplica; * means all.",
        "apiGroups": "Groups of the kinds; * means all.",
        "apiVersions": "Versions of the kinds; * means all.",
        "kinds": "The kinds; * means all.",
    },
    "WorkloadReference": {
        "apiVersion": "Group and version of the workload.",
        "kind": "The kind of the workload.",
        "namespace": "The namespace of the workload, if it has one.",
        "name": "The name of the workload.",
    },
    "WorkloadRebalancerSpec": {
        "workloads": "The workloads that are placed afresh.",
        "ttlSecondsAfterFinished": "After how many seconds the finished request is deleted; without it never.",
    },
    "WorkloadRebalancerStatus": {
        "observedWorkloads": "What has become of each workload.",
        "observedGeneration": "The generation of the request that was carried out.",
        "finishTime": "When the last workload was handled.",
    },
    "ObservedWorkload": {
        "workload": "The workload.",
        "result": "Successful or Failed; empty as long as it is not known.",
        "reason": "Why it failed.",
    },
}
