"""Gates: conditions that a replacement waits for, and that an old copy waits for, by annotations.

leeward.dev/wait-for      a replacement starts in its cluster when all of these hold
leeward.dev/keep-until    the old copy stays until all of these hold

Each is YAML, one gate or a list of them, on a policy or a template:

    apiVersion: ramendr.openshift.io/v1alpha1
    kind: VolumeReplicationGroup
    name: $(name)                                   # and namespace; by default those of the application
    in: Target                                      # or ControlPlane
    for: jsonpath={.status.state}=Primary           # condition=TYPE[=STATUS], jsonpath={PATH}[=VALUE], or create
    tellAfter: 10m                                  # somebody is told then; 5m by default

    webhook: https://gates.example.com/promoted     # in place of an object; with caBundle

Only a ClusterPropagationPolicy names a webhook: the control plane asks it from its own network.

`$(cluster)`, `$(name)`, `$(namespace)` and `$(kind)` stand for the cluster of the replacement, and the application.
`for` is written as for `kubectl wait`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from kubeapi.base64_text import read_base64
from kubeapi.codec import parse_first_yaml
from kubeapi.jsonpath import JSONPathError, compile_template
from kubeapi.meta import Manifest
from kubeapi.resource import is_api_version
from kubeapi.urls import endpoint_fault
from leeward.api.failback import OptionFault, parse_duration
from leeward.api.names import KEEP_UNTIL_ANNOTATION, WAIT_FOR_ANNOTATION
from leeward.api.rules.interpreters import webhook_url_fault
from leeward.api.rules.member_addresses import DEFAULT_RULES

GATE_ANNOTATIONS = (WAIT_FOR_ANNOTATION, KEEP_UNTIL_ANNOTATION)
MOST_GATES, MOST_CHARACTERS = 8, 8 * 1024
TELL_AFTER_SECONDS = 300
WEBHOOK_REFUSED = (
    "webhook: only a ClusterPropagationPolicy may name one; name an object, or ask an administrator for that policy"
)
TARGET, CONTROL_PLANE = "Target", "ControlPlane"
CREATED, OWN_NAME = "create", "$(name)"
_OF_OBJECT = ("apiVersion", "kind", "name", "namespace", "in", "for")
_OF_WEBHOOK = ("webhook", "caBundle")
_VARIABLE = re.compile(r"\$\(([^()]*)\)")
_VARIABLES = ("cluster", "name", "namespace", "kind")
_CONDITION = re.compile(r"condition=([^=\s]+)(?:=([^=\s]+))?")
_JSON_PATH = re.compile(r"jsonpath='?(\{.+\})'?(?:=(.+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReplacementGate:
    """One condition. `expression` is that of `kubectl wait --for`; with `webhook` there is no object."""

    api_version: str = ""
    kind: str = ""
    name: str = OWN_NAME
    namespace: str = ""
    place: str = TARGET
    expression: str = ""
    webhook: str = ""
    ca_bundle: bytes = b""
    tell_after_seconds: int = TELL_AFTER_SECONDS

    @property
    def is_in_target(self) -> bool:
        return self.place == TARGET and not self.webhook

    def in_cluster(self, values: Mapping[str, str]) -> "ReplacementGate":
        """The gate of one application in one cluster; `values` are those of the variables."""

        def filled(text: str) -> str:
            return _VARIABLE.sub(lambda match: values[match[1]], text)

        namespace = filled(self.namespace) or values["namespace"]
        return replace(self, name=filled(self.name), namespace=namespace, expression=filled(self.expression))


def is_gated(annotations: Mapping[str, str]) -> bool:
    return not annotations.keys().isdisjoint(GATE_ANNOTATIONS)


def parse_gates(annotation: str, annotations: Mapping[str, str]) -> tuple[ReplacementGate, ...]:
    """Gates of one annotation, none where it is not there. Raises: OptionFault that names the field."""
    text = annotations.get(annotation)
    if text is None:
        return ()
    try:
        found = _parsed(text)
        return tuple(_gate(each) for each in found)
    except ValueError as error:
        raise OptionFault(annotation, str(error)) from error


def refuse_webhooks(annotation: str, gates: Iterable[ReplacementGate]) -> None:
    """Refuses webhooks in gates that no administrator has written. Raises: OptionFault."""
    if any(gate.webhook for gate in gates):
        raise OptionFault(annotation, WEBHOOK_REFUSED)


def parse_condition(expression: str) -> tuple[str, str] | None:
    """Type and status of `condition=TYPE[=STATUS]`; None for another expression."""
    match = _CONDITION.fullmatch(expression)
    return None if match is None else (match[1], match[2] or "True")


def parse_path(expression: str) -> tuple[str, str | None] | None:
    """Template and value of `jsonpath={PATH}[=VALUE]`; the value is None where any will do."""
    match = _JSON_PATH.fullmatch(expression)
    return None if match is None else (match[1], match[2])


def _parsed(text: str) -> list[Manifest]:
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"must have at most {MOST_CHARACTERS} characters")
    try:
        document = parse_first_yaml(text)
    except ValueError as error:
        raise ValueError(f"must be YAML: {error}") from error
    listed = cast("list[Any]", document) if isinstance(document, list) else [document]
    if not listed or not all(isinstance(each, dict) for each in listed):
        raise ValueError("must be a mapping with the fields of a gate, or a list of such")
    if len(listed) > MOST_GATES:
        raise ValueError(f"must have at most {MOST_GATES} gates")
    return listed


def _gate(fields: Manifest) -> ReplacementGate:
    """Raises: ValueError."""
    is_webhook = "webhook" in fields
    known = (*(_OF_WEBHOOK if is_webhook else _OF_OBJECT), "tellAfter")
    texts = {name: _text(name, value, known) for name, value in fields.items()}
    tell_after = parse_duration("tellAfter", texts["tellAfter"]) if "tellAfter" in texts else TELL_AFTER_SECONDS
    if is_webhook:
        if fault := endpoint_fault(texts["webhook"]) or webhook_url_fault(texts["webhook"], DEFAULT_RULES):
            raise ValueError(f"webhook: {fault}")
        bundle = read_base64(texts.get("caBundle", ""))
        return ReplacementGate(webhook=texts["webhook"], ca_bundle=bundle, tell_after_seconds=tell_after)
    gate = ReplacementGate(
        texts.get("apiVersion", ""),
        texts.get("kind", ""),
        texts.get("name", OWN_NAME),
        texts.get("namespace", ""),
        texts.get("in", TARGET),
        texts.get("for", ""),
        tell_after_seconds=tell_after,
    )
    _check(gate)
    return gate


def _text(name: str, value: object, known: tuple[str, ...]) -> str:
    if name not in known:
        raise ValueError(f"{name}: no such field; a gate has {', '.join(known)}")
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name}: must be a text")
    return value


def _check(gate: ReplacementGate) -> None:
    """Raises: ValueError that names the field of a gate on an object."""
    if not is_api_version(gate.api_version):
        raise ValueError("apiVersion: name it with group and version, as in apps/v1, or name a webhook")
    if not gate.kind:
        raise ValueError("kind: name the kind of the object")
    if (gate.api_version, gate.kind) == ("v1", "Secret"):
        raise ValueError("kind: a Secret is not looked at")
    if gate.place not in (TARGET, CONTROL_PLANE):
        raise ValueError(f"in: must be {TARGET} or {CONTROL_PLANE}")
    for name, text in (("name", gate.name), ("namespace", gate.namespace), ("for", gate.expression)):
        for unknown in sorted({*_VARIABLE.findall(text)} - {*_VARIABLES}):
            raise ValueError(f"{name}: $({unknown}) is none of {', '.join(f'$({each})' for each in _VARIABLES)}")
    _check_expression(gate.expression)


def _check_expression(expression: str) -> None:
    if expression == CREATED or parse_condition(expression) is not None:
        return
    path = parse_path(expression)
    if path is None:
        raise ValueError(
            "for: must be condition=TYPE, condition=TYPE=STATUS, jsonpath={PATH}, jsonpath={PATH}=VALUE or create"
        )
    try:
        compile_template(path[0])
    except JSONPathError as error:
        raise ValueError(f"for: {error}") from error
