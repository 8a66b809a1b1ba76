"""Lazy activation: what a policy does to a template that nobody has changed, and to one that somebody has."""

from typing import Any

import pytest
from msgspec.structs import replace

from kubeapi.codec import copy_manifest, from_wire
from kubeapi.meta import Manifest
from leeward.api.names import LAZY_DIGEST_ANNOTATION, POLICY_ID_LABEL, TEMPLATE_CONTENTS_ANNOTATION
from leeward.api.policy import PropagationPolicy
from leeward.api.work import ResourceBinding
from leeward.core.propagation.activation import Activation, decide_activation
from leeward.core.propagation.digest import contents_digest, user_digest

TEMPLATE: Manifest = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "namespace": "default", "creationTimestamp": "2026-01-01T00:00:10Z"},
    "data": {"a": "1"},
}
DIGEST = user_digest(TEMPLATE)


def policy(made: str | None = "2026-01-01T00:00:20Z", preference: str = "Lazy") -> PropagationPolicy:
    metadata: Manifest = {"name": "p", "namespace": "default"}
    if made is not None:
        metadata["creationTimestamp"] = made
    spec = {"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}], "activationPreference": preference}
    return from_wire({"metadata": metadata, "spec": spec}, PropagationPolicy)


def template(seen: str | None = None, **parts: Any) -> Manifest:
    """Template with that digest in its annotation."""
    made = copy_manifest(TEMPLATE) | parts
    if seen is not None:
        made["metadata"] = {**made["metadata"], "annotations": {LAZY_DIGEST_ANNOTATION: seen}}
    return made


def binding(digest: str | None = None, claimed_by: str = "") -> ResourceBinding:
    """Binding that has followed a lazy policy of that permanent id with the template of that digest."""
    metadata: Manifest = {"name": "settings-configmap", "namespace": "default", "labels": {POLICY_ID_LABEL: claimed_by}}
    if digest is not None:
        metadata["annotations"] = {LAZY_DIGEST_ANNOTATION: digest}
    return from_wire(
        {"metadata": metadata, "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}}},
        ResourceBinding,
    )


def digests(before: str | None, after: str, waits: bool) -> Activation:
    seen = {} if before is None else {LAZY_DIGEST_ANNOTATION: before}
    return Activation(seen, {LAZY_DIGEST_ANNOTATION: after}, waits=waits)


@pytest.mark.parametrize("present", [None, binding(), binding(DIGEST)])
def test_a_policy_that_is_not_lazy_takes_effect_at_once(present: ResourceBinding | None) -> None:
    assert decide_activation(template(), policy(preference=""), present) == Activation()
    assert decide_activation(template(DIGEST), policy(preference=""), present) == Activation()


CHANGED: Manifest = {"data": {"a": "2"}}
NEXT = user_digest(template(None, **CHANGED))


@pytest.mark.parametrize(
    ("found", "present", "expected"),
    [
        (template(), None, digests(None, f"waiting-{DIGEST}", waits=True)),
        (template(f"waiting-{DIGEST}"), None, digests(f"waiting-{DIGEST}", f"waiting-{DIGEST}", waits=True)),
        (template(f"waiting-{DIGEST}", **CHANGED), None, digests(f"waiting-{DIGEST}", NEXT, waits=False)),
        (template(), binding(), digests(None, DIGEST, waits=True)),
        (template(DIGEST), binding(DIGEST), digests(DIGEST, DIGEST, waits=True)),
        (template(DIGEST, **CHANGED), binding(DIGEST), digests(DIGEST, NEXT, waits=False)),
        (template(DIGEST, **CHANGED), binding(), digests(DIGEST, NEXT, waits=False)),
        (template(DIGEST, **CHANGED), binding(NEXT), digests(DIGEST, NEXT, waits=True)),
        (template(NEXT), binding(DIGEST), digests(NEXT, DIGEST, waits=True)),
        (template(DIGEST), None, digests(DIGEST, DIGEST, waits=False)),
        (template(), binding(DIGEST), digests(DIGEST, DIGEST, waits=True)),
        (template(None, **CHANGED), binding(DIGEST), digests(DIGEST, NEXT, waits=False)),
        (template(None, **CHANGED), binding(DIGEST, "another"), digests(None, NEXT, waits=True)),
        (template(DIGEST, **CHANGED), binding(NEXT, "another"), digests(DIGEST, NEXT, waits=False)),
    ],
    ids=[
        "claimed for the first time",
        "it still waits",
        "a user has changed it",
        "it has a binding already: the policy has changed",
        "nobody has changed it since",
        "a user has changed it again",
        "a user has changed it, and the binding is of a version before this one",
        "it has taken effect, and the template does not say so yet",
        "a user has changed it back before the template said that it has taken effect",
        "somebody has deleted its binding",
        "a user has replaced it as it was",
        "a user has replaced it by another",
        "it has followed another policy until now",
        "it has followed another policy with what a user has made of it",
    ],
)
def test_a_lazy_policy_takes_effect_when_a_user_changes_the_template(
    found: Manifest, present: ResourceBinding | None, expected: Activation
) -> None:
    assert decide_activation(found, policy(), present) == expected


@pytest.mark.parametrize(
    ("changes", "waits"), [({}, True), ({"data": {"a": "2"}}, False), ({"status": {"b": 1}}, True)]
)
def test_what_a_user_changed_while_no_policy_followed_takes_effect_with_the_next_lazy_one(
    changes: Manifest, waits: bool
) -> None:
    """The policy above it was deleted, and the template changed, while nobody worked (seed 56224)."""
    another = binding(claimed_by="another")
    noted = {TEMPLATE_CONTENTS_ANNOTATION: contents_digest(TEMPLATE)}
    followed = replace(another, metadata=replace(another.metadata, annotations=noted))
    changed = template(**changes)
    assert decide_activation(changed, policy(), followed) == digests(None, user_digest(changed), waits)


@pytest.mark.parametrize(
    ("key", "of_users"),
    [
        ("app", True),
        ("example.com/app", True),
        ("karmada.io", True),
        ("notkarmada.io/x", True),
        ("namespace.karmada.io/skip-auto-propagation", True),
        ("karmada.io/managed", False),
        ("propagationpolicy.karmada.io/name", False),
        ("leeward.dev/lazy-digest", False),
    ],
)
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_a_mark_of_a_control_plane_is_no_change_by_a_user(field: str, key: str, *, of_users: bool) -> None:
    marked = template(None, metadata={**TEMPLATE["metadata"], field: {key: "x"}})
    assert (user_digest(marked) != DIGEST) is of_users
    assert user_digest(template(None, metadata={**TEMPLATE["metadata"], field: None})) == DIGEST


def test_a_new_version_or_status_is_no_change_by_a_user() -> None:
    written: Manifest = {"resourceVersion": "9", "generation": 4, "managedFields": [{}]}
    metadata: Manifest = {**TEMPLATE["metadata"], **written}
    assert user_digest(template(None, metadata=metadata, status={"x": 1})) == DIGEST
    assert user_digest(template(None, metadata={**metadata, "finalizers": ["a/b"]})) != DIGEST


@pytest.mark.parametrize(
    ("made", "since", "waits"),
    [
        ("2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z", True),
        ("2026-01-01T00:00:20Z", "2026-01-01T00:00:20Z", False),
        ("2026-01-01T00:00:30Z", "2026-01-01T00:00:20Z", False),
        (None, "2026-01-01T00:00:20Z", False),
        ("2026-01-01T00:00:10Z", None, False),
    ],
)
def test_on_a_template_that_is_younger_it_takes_effect_at_once(
    made: str | None, since: str | None, *, waits: bool
) -> None:
    found = template()
    found["metadata"]["creationTimestamp"] = made
    assert decide_activation(found, policy(since), None).waits is waits
