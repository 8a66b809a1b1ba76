"""Credentials of members: the Secrets that a write of a Cluster shows to a place of the writer's choosing.

The control plane sends the token of `spec.secretRef` to `spec.apiEndpoint`, and that of `spec.impersonatorSecretRef`
when somebody goes through the cluster proxy. So who chooses either of a pair must be one who may read the Secret.

Karmada: no such rule; who may write Clusters there has every token that any namespace keeps.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from kubeapi.diff import is_equal
from kubeapi.untrusted import mapping_in
from leeward.api.names import AGENT_GROUP, ALLOW_HTTP_ANNOTATION, execution_space

REFERENCES = ("secretRef", "impersonatorSecretRef")
_ADDRESS_FIELDS = ("apiEndpoint", "proxyURL", "insecureSkipTLSVerification", "syncMode")
"""Fields of a Cluster's `spec` that decide who gets to see the tokens."""


class ExposedSecret(NamedTuple):
    """`field` of the `spec` refers to it."""

    field: str
    namespace: str
    name: str


def exposed_secrets(
    cluster: Mapping[str, Any], before: Mapping[str, Any] | None, groups: Collection[str] = ()
) -> tuple[ExposedSecret, ...]:
    """Secrets that a writer in `groups` has to be allowed to read; `before` is None for a new Cluster.

    What lies in the cluster's own execution space is its agent's to show.
    """
    own = execution_space(str(mapping_in(cluster, "metadata").get("name"))) if AGENT_GROUP in groups else None
    spec, old = mapping_in(cluster, "spec"), mapping_in(before or {}, "spec")
    moved = any(not is_equal(spec.get(field), old.get(field)) for field in _ADDRESS_FIELDS) or (
        _in_the_clear(cluster) and not _in_the_clear(before or {})
    )
    found: list[ExposedSecret] = []
    for field in REFERENCES:
        reference = mapping_in(spec, field)
        namespace = str(reference.get("namespace", ""))
        if reference and namespace != own and (moved or not is_equal(reference, mapping_in(old, field))):
            found.append(ExposedSecret(field, namespace, str(reference.get("name", ""))))
    return tuple(found)


def exposure_refusal(user: str, secret: ExposedSecret) -> str:
    """Refusal of a writer who may not read `secret`."""
    what = f"the Secret {secret.namespace}/{secret.name}"
    return (
        f'spec.{secret.field}: user "{user}" may not read {what}, and would choose where its token is sent to: '
        "let somebody write it who may, or give the right to get that Secret"
    )


def _in_the_clear(cluster: Mapping[str, Any]) -> bool:
    return mapping_in(mapping_in(cluster, "metadata"), "annotations").get(ALLOW_HTTP_ANNOTATION) == "true"
