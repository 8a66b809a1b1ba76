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
    "an address is judged by its type (Gateway API)": Case(
        {
            **struct(type={**STRING, "default": "IPAddress"}, value=STRING),
            "oneOf": [
                {
                    "properties": {
                        "type": {"enum": ["IPAddress"]},
                        "value": {"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
                    }
                },
                {"properties": {"type": {"not": {"enum": ["IPAddress"]}}}},
            ],
        },
        {"value": "fd00::1"},
        stored={"type": "IPAddress", "value": "fd00::1"},
        refused=(({"value": "a.example"}, "must validate one and only one schema (oneOf)"),),
    ),
    "a text is parted, cut and sought (Karpenter, Gateway API, Envoy Gateway)": Case(
        struct(
            alias=ruled(
                {**STRING, "maxLength": 60},
                rule("self.split('@').size() == 2 && self.split('@')[0] in ['al2', 'al2023']", "unknown family"),
                rule("self.find('[^@]+$') == self.substring(self.indexOf('@') + 1)", "version is behind @"),
            ),
            hosts=ruled(
                listed({**STRING, "maxLength": 253}, maxItems=16),
                rule("self.all(h, !isIP(h) && h.trim() != '')", "no address"),
                rule("self.all(h, !h.contains('*') || (h.startsWith('*.') && h.substring(2).matches('^[a-z.]+$')))"),
            ),
            method=ruled(STRING, rule("self.upperAscii() in ['POST', 'PUT'] && self == self.lowerAscii()", "in small")),
        ),
        {"alias": "al2023@v20260801", "hosts": ["*.example", "a.example"], "method": "put"},
        refused=(
            ({"alias": "al3@latest"}, "unknown family"),
            ({"hosts": ["10.0.0.1"]}, "no address"),
            ({"hosts": ["a.*"]}, "failed rule: self.all(h, !h.contains"),
            ({"method": "PUT"}, "in small"),
        ),
    ),
    "numbers are read of texts (Karpenter, Kubeflow Trainer)": Case(
        struct(
            needs=ruled(
                listed({**struct(key=STRING, operator=STRING, values=listed(STRING, maxItems=9)), "required": ["key"]}),
                rule(
                    "self.all(x, x.operator in ['Gt', 'Lt'] ? x.values.size() == 1 && int(x.values[0]) >= 0 : true)",
                    "one number",
                ),
            ),
            low=ruled(STRING, rule("double(self) > 0.0", "must be positive")),
        ),
        {"needs": [{"key": "a", "operator": "Gt", "values": ["4"]}, {"key": "b", "operator": "In"}], "low": "1e-3"},
        refused=(
            ({"needs": [{"key": "a", "operator": "Lt", "values": ["-1"]}]}, "one number"),
            ({"needs": [{"key": "a", "operator": "Lt", "values": ["many"]}]}, "evaluating rule: one number"),
            ({"low": "-1"}, "must be positive"),
        ),
    ),
    "a URL may lack its scheme (Istio)": Case(
        struct(
            url=ruled(
                STRING,
                rule(
                    "isURL(self) ? (url(self).getScheme() in ['', 'https', 'oci']) : (isURL('http://' + self) &&\n"
                    "url('http://' + self).getScheme() in ['', 'http'])",
                    "not a URL of an image",
                ),
            )
        ),
        {"url": "images.example/filter:v1"},
        refused=(({"url": "ftp://a"}, "not a URL of an image"),),
    ),
    "a part of a key has a default (Argo Workflows, Kubeflow Trainer)": Case(
        struct(
            ports=listed(
                {**struct(number=INTEGER, protocol={**STRING, "default": "TCP"}), "required": ["number"]},
                "number",
                "protocol",
            )
        ),
        {"ports": [{"number": 53}, {"number": 53, "protocol": "UDP"}]},
        stored={"ports": [{"number": 53, "protocol": "TCP"}, {"number": 53, "protocol": "UDP"}]},
        refused=(({"ports": [{"number": 53}, {"number": 53, "protocol": "TCP"}]}, "Duplicate value"),),
    ),
    "formats that say little, or nothing (Istio, OpenTelemetry, cert-manager, Postgres operator)": Case(
        struct(
            host={**STRING, "format": "string"},
            every={**STRING, "format": "duration", "default": "30s"},
            request={**STRING, "format": "byte"},
            uid={**STRING, "format": "uuid"},
            weight={"type": "number", "format": "double"},
            port={**INTEGER, "format": "int32"},
        ),
        {"host": "a b", "request": "YQ==", "uid": "0b1f1b66-8c0e-4c38-9d3e-6a3f4ab8d8a4", "weight": 0.5, "port": 8080},
        stored={
            "host": "a b",
            "every": "30s",
            "request": "YQ==",
            "uid": "0b1f1b66-8c0e-4c38-9d3e-6a3f4ab8d8a4",
            "weight": 0.5,
            "port": 8080,
        },
        refused=(
            ({"every": "often"}, "must be of type duration"),
            ({"request": "no base64"}, "must be of type byte"),
            ({"uid": "1"}, "must be of type uuid"),
            ({"port": 2147483648}, "int32"),
        ),
    ),
    "a bound of a quantity stands twice (Karpenter, Envoy Gateway)": Case(
        struct(
            size={
                **INT_OR_STRING,
                "allOf": [
                    {"pattern": r"^[0-9.]+([KMGTPE]i?|[eE][0-9]+)?$"},
                    {"pattern": r"^[1-9]+[0-9]*([KMGTPE]i?)?$"},
                ],
            },
            share={**INT_OR_STRING, "default": "25%", "pattern": r"^((100|[0-9]{1,2})%|[0-9]+)$"},
            mode={**STRING, "allOf": [{"enum": ["Text", "Binary"]}, {"enum": ["Text", "Binary", "Any"]}]},
        ),
        {"size": "10Gi", "mode": "Text"},
        stored={"size": "10Gi", "mode": "Text", "share": "25%"},
        refused=(({"size": "1e3"}, "should match"), ({"share": "101%"}, "should match"), ({"mode": "Any"}, "mode")),
    ),
    "an absent field is read as optional (Kueue, Cluster API)": Case(
        ruled(
            struct(labels={"type": "object", "additionalProperties": STRING}, low=INTEGER, high=INTEGER),
            rule("self.?labels[?'tier'].orValue('a') in ['a', 'b']", "tier is a or b"),
            rule("self.?low.optMap(low, low > 0).orValue(true)", "low is positive"),
            rule("!self.?high.hasValue() || self.?low.hasValue()", "high needs low"),
        ),
        {"labels": {"other": "c"}},
        refused=(
            ({"labels": {"tier": "c"}}, "tier is a or b"),
            ({"low": 0}, "low is positive"),
            ({"high": 1}, "high needs low"),
        ),
    ),
    "keys of a map are judged (Karpenter, Kueue)": Case(
        struct(
            labels=ruled(
                {"type": "object", "additionalProperties": {**STRING, "maxLength": 63}, "maxProperties": 3},
                rule("self.all(k, k != '' && self[k] != '')", "empty keys or values are not supported"),
                rule("self.all(k, !k.find('^([^/]+)').endsWith('acme.example'))", "label domain is restricted"),
            )
        ),
        {"labels": {"other.example/a": "b"}},
        refused=(
            ({"labels": {"a": ""}}, "empty keys or values"),
            ({"labels": {"sub.acme.example/a": "b"}}, "label domain is restricted"),
            ({"labels": dict.fromkeys("abcd", "x")}, "must have at most 3 items"),
        ),
    ),
    "an item of a list is compared with its former self (Kueue, JobSet)": Case(
        struct(
            jobs=listed(
                {
                    **struct(
                        name=STRING, replicas={**INTEGER, "maximum": 9}, image=ruled(STRING, rule("self == oldSelf"))
                    ),
                    "required": ["name"],
                },
                "name",
                maxItems=8,
            )
        ),
        {"jobs": [{"name": "a", "image": "x"}, {"name": "b", "replicas": 2}]},
    ),
    "fields with names of the language, and with signs (Prometheus operator, Istio)": Case(
        ruled(
            {
                "type": "object",
                "properties": {
                    "in": STRING,
                    "namespace": STRING,
                    "x-y": STRING,
                    "a.b": STRING,
                    "c/d": STRING,
                    "__e__": STRING,
                },
            },
            rule("self.__in__ == self.__namespace__ && self.x__dash__y == self.a__dot__b", "not equal"),
            rule("self.c__slash__d == self.__underscores__e__underscores__", "not equal, too"),
        ),
        {"in": "a", "namespace": "a", "x-y": "b", "a.b": "b", "c/d": "c", "__e__": "c"},
        refused=(
            ({"in": "a", "namespace": "b", "x-y": "b", "a.b": "b", "c/d": "c", "__e__": "c"}, "not equal"),
            ({"in": "a", "namespace": "a", "x-y": "b", "a.b": "b", "c/d": "c", "__e__": "d"}, "not equal, too"),
        ),
    ),
    "columns seek, count from the end and name keys with dots (Trainer, KServe, Kyverno, Crossplane)": Case(
        struct(traffic=listed({**struct(tag=STRING, percent=INTEGER, latest={"type": "boolean"})})),
        {"traffic": [{"tag": "prev", "percent": 20}, {"tag": "next", "percent": 80, "latest": True}]},
        version={
            "additionalPrinterColumns": [
                {"name": "Last", "type": "string", "jsonPath": ".spec.traffic[-1:].tag"},
                {"name": "Prev", "type": "integer", "jsonPath": ".spec.traffic[?(@.tag=='prev')].percent"},
                {"name": "Latest", "type": "integer", "jsonPath": ".spec.traffic[?(@.latest==true)].percent"},
                {"name": "Tags", "type": "string", "jsonPath": ".spec.traffic[*].tag"},
                {"name": "Team", "type": "string", "jsonPath": ".metadata.labels['acme\\.example/team']"},
                {"name": "Zone", "type": "string", "jsonPath": ".metadata.labels.acme\\.example/zone"},
                {"name": "First", "type": "string", "jsonPath": ".spec.traffic[0].tag"},
                {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type == 'Ready')].status"},
            ]
        },
    ),
    "an old version warns and is served beside (Cluster API, Flux)": Case(
        struct(a=STRING), {"a": "b"}, version={"deprecated": True, "deprecationWarning": "acme.example/v1 is old"}
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
