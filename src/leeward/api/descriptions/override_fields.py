"""Fields of OverridePolicy and ClusterOverridePolicy."""

from collections.abc import Mapping
from typing import Final

OVERRIDE_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "OverrideSpec": {
        "resourceSelectors": "The templates that are changed; empty means all.",
        "overrideRules": "Rules, carried out in this order: which clusters, and what is changed for them.",
        "targetCluster": "The clusters of a single rule. Deprecated: use overrideRules.",
        "overriders": "What a single rule changes. Deprecated: use overrideRules.",
    },
    "RuleWithCluster": {
        "targetCluster": "The clusters that the rule is for; without it all.",
        "overriders": "What is changed for them.",
    },
    "Overriders": {
        "plaintext": "JSON patch operations on any field; carried out last.",
        "imageOverrider": "Changes of images.",
        "commandOverrider": "Changes of containers' commands.",
        "argsOverrider": "Changes of containers' arguments.",
        "labelsOverrider": "Changes of labels.",
        "annotationsOverrider": "Changes of annotations.",
        "fieldOverrider": "Changes inside of JSON or YAML that a field holds as text.",
    },
    "PlaintextOverrider": {
        "path": "Where: a JSON pointer, as /spec/replicas.",
        "operator": "add, remove or replace.",
        "value": "The value for add and replace.",
    },
    "ImageOverrider": {
        "component": "The part of the image that is changed: Registry, Repository or Tag.",
        "operator": "add, remove or replace.",
        "value": "The value for add and replace.",
        "predicate": "Which image is changed; without it those of all containers.",
    },
    "ImagePredicate": {"path": "JSON pointer to the image, as /spec/template/spec/containers/0/image."},
    "CommandArgsOverrider": {
        "containerName": "The name of the container.",
        "operator": "add or remove.",
        "value": "The words that are added at the end, or removed.",
    },
    "LabelAnnotationOverrider": {
        "operator": "add, remove or replace.",
        "value": "Keys and values. Only what is there is removed or replaced.",
    },
    "FieldOverrider": {
        "fieldPath": "JSON pointer to the field that holds the text, as /data/config.yaml.",
        "json": "Operations, where the text is JSON. Either this or yaml.",
        "yaml": "Operations, where the text is YAML. Either this or json.",
    },
    "FieldPatchOperation": {
        "subPath": "Where in the document: a JSON pointer.",
        "operator": "add, remove or replace.",
        "value": "The value for add and replace.",
    },
}
