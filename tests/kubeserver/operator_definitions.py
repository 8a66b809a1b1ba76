"""Features of definitions that well-known operators bring, each in a definition that is no larger than needed."""

from typing import Any, NamedTuple

from kubeapi.meta import Manifest

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
OBJECT: Manifest = {"type": "object"}
NOTHING: Manifest = {}


def struct(**properties: Any) -> Manifest:
    return {"type": "object", "properties": properties}


def rule(text: str, message: str = "", **more: Any) -> Manifest:
    return {"rule": text, **({"message": message} if message else {}), **more}


def ruled(schema: Manifest, *rules: Manifest) -> Manifest:
    return {**schema, "x-kubernetes-validations": list(rules)}


def listed(items: Manifest, *keys: str, **more: Any) -> Manifest:
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)} if keys else {}
    return {"type": "array", "items": items, **keyed, **more}


class Case(NamedTuple):
    """`refused` has objects that do not fit, each with words of the answer; `stored` is the spec as it is kept."""

    spec: Manifest
    fits: Any
    refused: tuple[tuple[Any, str], ...] = ()
    stored: Any = None
    root: Manifest = OBJECT
    version: Manifest = NOTHING


INT_OR_STRING: Manifest = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
REFERENCE = {
    **struct(name=STRING, namespace=STRING, kind={"type": "string", "default": "Service"}),
    "required": ["name"],
}
ONE_OF_TWO = {**struct(a=OBJECT, b=OBJECT), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
CONDITION = {
    **struct(
        type=STRING,
        status={"type": "string", "enum": ["True", "False", "Unknown"]},
        at={**STRING, "format": "date-time"},
    ),
    "required": ["type", "status"],
}
CASES: dict[str, Case] = {
    "the whole object is required (Argo CD, CloudNativePG)": Case(
        struct(project=STRING),
        {"project": "default"},
        root={"required": ["metadata", "spec"]},
    ),
    "the name is bounded at the root (Gateway API, Crossplane)": Case(
        struct(a=STRING),
        {"a": "b"},
        root=ruled({}, rule("self.metadata.name.size() <= 63 && self.metadata.name != 'refused'", "another name")),
        refused=(({"a": "b"}, "another name"),),
    ),
    "a format is compared with null (XBackend of Gateway API)": Case(
        struct(
            name=ruled(
                {**STRING, "maxLength": 63}, rule("format.dns1123Label().validate(self) == null || self == 'ok'")
            )
        ),
        {"name": "ok"},
        refused=(({"name": "not ok"}, "failed rule"),),
    ),
    "references in a list are unique (Gateway API)": Case(
        struct(
            refs=ruled(
                listed(REFERENCE, maxItems=16),
                rule(
                    "self.all(a, self.exists_one(b, a.name == b.name && (has(a.__namespace__) ? a.__namespace__ : '') "
                    "== (has(b.__namespace__) ? b.__namespace__ : '')))",
                    "references must be unique",
                ),
            )
        ),
        {"refs": [{"name": "a", "namespace": "x"}, {"name": "a", "namespace": "y"}]},
        refused=(({"refs": [{"name": "a", "namespace": "x"}] * 2}, "references must be unique"),),
        stored={
            "refs": [
                {"name": "a", "namespace": "x", "kind": "Service"},
                {"name": "a", "namespace": "y", "kind": "Service"},
            ]
        },
    ),
    "exactly one of several is set (External Secrets, Istio)": Case(
        {**struct(provider={**struct(aws=OBJECT, gcp=OBJECT), "minProperties": 1, "maxProperties": 1}, one=ONE_OF_TWO)},
        {"provider": {"aws": {}}, "one": {"a": {}}},
        refused=(
            ({"provider": {"aws": {}, "gcp": {}}}, "must have at most 1 items"),
            ({"one": {"a": {}, "b": {}}}, "must validate one and only one schema (oneOf)"),
            ({"one": {}}, "Found none valid"),
        ),
    ),
    "none of several is set (Istio)": Case(
        {
            **struct(a=OBJECT, b=OBJECT),
            "oneOf": [{"not": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}}, {"required": ["a"]}],
        },
        {},
        refused=(({"b": {}}, "must validate one and only one schema (oneOf)"),),
    ),
    "a quantity or a number (Karpenter, KubeRay, Prometheus operator)": Case(
        struct(
            cpu={**INT_OR_STRING, "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$"},
            limits=ruled(
                {"type": "object", "additionalProperties": INT_OR_STRING},
                rule("self.all(k, quantity(string(self[k])).isGreaterThan(quantity('0')))", "must be positive"),
            ),
        ),
        {"cpu": 2, "limits": {"memory": "1Gi", "pods": 5}},
        refused=(
            ({"cpu": "much"}, "should match"),
            ({"limits": {"memory": "0"}}, "must be positive"),
            ({"cpu": 1.5}, "type"),
        ),
    ),
    "values are bounded and sized (Karpenter, KEDA)": Case(
        struct(
            weight={**INTEGER, "minimum": 1, "maximum": 100},
            ratio={"type": "number", "minimum": 0, "exclusiveMinimum": True},
        ),
        {"weight": 100, "ratio": 1},
        refused=(({"weight": 0}, "greater than or equal to 1"), ({"ratio": 0}, "should be greater than 0")),
    ),
    "a number is a double in a rule (KEDA, Kueue)": Case(
        ruled(struct(ratio={"type": "number"}), rule("self.ratio * 2.0 < 5.0", "too much")),
        {"ratio": 2},
        refused=(({"ratio": 3}, "too much"),),
    ),
    "durations and cron (Flux, Velero, Karpenter)": Case(
        struct(
            interval=ruled(
                {**STRING, "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"},
                rule("duration(self) <= duration('1h')", "too long"),
            ),
            schedule={**STRING, "pattern": r"^(@(annually|daily|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$"},
        ),
        {"interval": "1m30s", "schedule": "*/5 * * * *"},
        refused=(({"interval": "2h"}, "too long"), ({"schedule": "often"}, "should match")),
    ),
    "a field does not change (Kueue, JobSet, Trainer)": Case(
        struct(
            queue=ruled(STRING, rule("self == oldSelf", "field is immutable", fieldPath="", reason="FieldValueInvalid"))
        ),
        {"queue": "a"},
    ),
    "a field is set once (Cluster API, Kueue)": Case(
        ruled(
            struct(host=STRING, size=INTEGER),
            rule(
                "!oldSelf.hasValue() || !has(oldSelf.value().host) || has(self.host)",
                "host is kept",
                optionalOldSelf=True,
            ),
        ),
        {"host": "a", "size": 1},
    ),
    "a message and a path are made (cert-manager, Kueue)": Case(
        ruled(
            struct(low=INTEGER, high=INTEGER),
            rule(
                "self.low <= self.high",
                messageExpression="'low is ' + string(self.low)",
                fieldPath=".low",
                reason="FieldValueForbidden",
            ),
        ),
        {"low": 1, "high": 2},
        refused=(({"low": 3, "high": 2}, "spec.low: Forbidden: low is 3"),),
    ),
    "lists are maps, sets and atoms (Kueue, Gateway API, Cluster API)": Case(
        struct(
            flavors=listed({**struct(name=STRING, n={**INTEGER, "default": 1}), "required": ["name"]}, "name"),
            tags={**listed(STRING), "x-kubernetes-list-type": "set"},
            steps={**listed(STRING), "x-kubernetes-list-type": "atomic"},
            labels={"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"},
        ),
        {"flavors": [{"name": "a"}, {"name": "b", "n": 2}], "tags": ["x"], "steps": ["s", "s"], "labels": {"l": "m"}},
        stored={
            "flavors": [{"name": "a", "n": 1}, {"name": "b", "n": 2}],
            "tags": ["x"],
            "steps": ["s", "s"],
            "labels": {"l": "m"},
        },
        refused=(({"flavors": [{"name": "a"}] * 2}, "Duplicate value"), ({"tags": ["x", "x"]}, "Duplicate value")),
    ),
    "another object is embedded (Crossplane, Agones, KubeVirt)": Case(
        struct(base={**OBJECT, "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}),
        {"base": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}},
        refused=(({"base": {"kind": "ConfigMap"}}, "spec.base.apiVersion: Required value"),),
    ),
    "anything goes below a field (Flux, Kyverno, Tekton)": Case(
        struct(
            values={"x-kubernetes-preserve-unknown-fields": True},
            known={**struct(a=STRING), "x-kubernetes-preserve-unknown-fields": True},
        ),
        {"values": [1, {"a": None}], "known": {"a": "b", "c": {"d": 1}}},
    ),
    "null is a value (Argo Workflows, Longhorn)": Case(
        struct(
            a={**STRING, "nullable": True},
            b={**STRING, "default": "x"},
            c={**OBJECT, "nullable": True, "additionalProperties": STRING},
        ),
        {"a": None, "b": None, "c": None},
        stored={"a": None, "b": "x", "c": None},
    ),
    "defaults fill defaults (Knative, OpenTelemetry)": Case(
        struct(a={**struct(b={**struct(c={**INTEGER, "default": 3}), "default": {}}), "default": {}}),
        {},
        stored={"a": {"b": {"c": 3}}},
    ),
    "unknown fields go, also in lists and maps (Rook, Strimzi)": Case(
        struct(m={"type": "object", "additionalProperties": struct(a=STRING)}, n=listed(struct(a=STRING))),
        {"m": {"x": {"a": "b", "z": 1}}, "n": [{"a": "b", "z": 1}]},
        stored={"m": {"x": {"a": "b"}}, "n": [{"a": "b"}]},
    ),
    "formats of addresses and hosts (MetalLB, Calico, Cilium)": Case(
        struct(
            cidr={**STRING, "format": "cidr"},
            ip=ruled(STRING, rule("isIP(self) && ip(self).family() == 4", "must be IPv4")),
            net=ruled(STRING, rule("cidr(self).prefixLength() >= 24 && cidr(self) != null", "too wide")),
            url=ruled(STRING, rule("isURL(self) && url(self).getScheme() in ['http', 'https']", "must be a URL")),
        ),
        {"cidr": "10.0.0.0/8", "ip": "10.0.0.1", "net": "10.0.0.0/24", "url": "https://a/b"},
        refused=(
            ({"cidr": "10.0.0.0"}, "must be of type cidr"),
            ({"ip": "::1"}, "must be IPv4"),
            ({"net": "10.0.0.0/8"}, "too wide"),
            ({"url": "http://#%a$#@"}, "must be a URL"),
        ),
    ),
    "patterns of Go (Kyverno, Argo Workflows)": Case(
        struct(
            expression={**STRING, "pattern": r"^{{[^}]+}}$"}, name={**STRING, "pattern": "^[[:alpha:]][[:alnum:]_]*$"}
        ),
        {"expression": "{{a.b}}", "name": "a_1"},
        refused=(({"expression": "{a}"}, "should match"), ({"name": "1a"}, "should match")),
    ),
    "an enum has numbers and nothing (Prometheus operator, Calico)": Case(
        struct(level={**STRING, "enum": ["", "debug", "info"]}, port={**INTEGER, "enum": [80, 443]}),
        {"level": "", "port": 443},
        refused=(({"level": "x"}, "Unsupported value"), ({"port": 1}, "Unsupported value")),
    ),
    "columns show lists, times and nothing (Apisix, Volcano, Cluster API)": Case(
        struct(hosts=listed(STRING), n=INTEGER),
        {"hosts": ["a", "b"], "n": 1},
        version={
            "additionalPrinterColumns": [
                {"name": "Host", "type": "string", "jsonPath": ".spec.hosts[]"},
                {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
                {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                {"name": "N", "type": "integer", "jsonPath": ".spec.n", "priority": 1},
            ]
        },
    ),
    "fields are selected by (cert-manager, Crossplane)": Case(
        struct(host=STRING), {"host": "a"}, version={"selectableFields": [{"jsonPath": ".spec.host"}]}
    ),
}


def definition(case: Case) -> Manifest:
    status = struct(replicas=INTEGER, conditions=listed(CONDITION, "type"))
    whole: Manifest = {**struct(apiVersion=STRING, kind=STRING, metadata=OBJECT, spec=case.spec, status=status)}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version: Manifest = {"name": "v1", "served": True, "storage": True}
    version |= {"schema": {"openAPIV3Schema": {**whole, **case.root}}}
    version |= {"subresources": {"status": {}, "scale": scale}, **case.version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.acme.example"},
        "spec": {
            "group": "acme.example",
            "scope": "Namespaced",
            "versions": [version],
            "names": {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"},
            "conversion": {"strategy": "None"},
        },
    }
