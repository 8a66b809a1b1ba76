"""Losses at a return: what is deleted in a cluster when it comes back, because its copies have moved away meanwhile;
and what stays.

It is told from the Works that are there: kinds and names, the addresses that load balancers have given, the custom
resources that go with a definition, and the claims of StatefulSets, which stay.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from kubeapi.meta import ReadOnlyManifest
from kubeapi.untrusted import mapping_in, mappings_in
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.work import Binding, Work, is_custom
from leeward.core.eviction.volumes import noted_claims

DEFINITION = "CustomResourceDefinition"


class ReturnLosses(msgspec.Struct, frozen=True, rename="camel"):
    """`kinds` counts what is deleted; custom resources are named, and so are addresses that are lost with Services.

    `definitions` take all custom resources of their kind along; `claims` are left where they are.
    """

    kinds: Mapping[str, int]
    custom_resources: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.kinds.values())


def losses_on_return(state: FleetState, left: Mapping[BindingName, Iterable[str]]) -> ReturnLosses:
    """`left` says which clusters each binding has left wholly."""
    kinds = Counter[str]()
    custom, addresses, definitions, claims = list[str](), list[str](), list[str](), list[str]()
    for key, clusters in sorted(left.items()):
        works = state.works_of(key)
        for work in (works[name] for name in clusters if name in works):
            for manifest in work.spec.workload.manifests:
                name = _name(manifest)
                kinds[manifest.get("kind", "")] += 1
                if manifest.get("kind") == DEFINITION:
                    definitions.append(name)
                elif is_custom(str(manifest.get("apiVersion", ""))):
                    custom.append(f"{manifest.get('kind', '')} {name}")
            addresses += _addresses(work)
            claims += _claims(state.bindings[key])
    return ReturnLosses(
        kinds=dict(sorted(kinds.items())),
        custom_resources=tuple(sorted(set(custom))),
        addresses=tuple(sorted(set(addresses))),
        definitions=tuple(sorted(set(definitions))),
        claims=tuple(dict.fromkeys(claims)),
    )


def _claims(binding: Binding) -> list[str]:
    """`data (shop/db)`"""
    whose = "/".join(filter(None, (binding.spec.resource.namespace, binding.spec.resource.name)))
    return [f"{claim} ({whose})" for claim in noted_claims(binding)]


def _addresses(work: Work) -> list[str]:
    """`203.0.113.20 (ads/creatives)`"""
    told: list[str] = []
    for status in work.status.manifest_statuses:
        at = status.identifier
        reported = cast(Mapping[str, Any], status.status or {})
        for each in mappings_in(mapping_in(reported, "loadBalancer"), "ingress"):
            address = each.get("ip") or each.get("hostname")
            if address:
                told.append(f"{address} ({'/'.join(filter(None, (at.namespace, at.name)))})")
    return told


def _name(manifest: ReadOnlyManifest) -> str:
    metadata = cast(Mapping[str, str], manifest.get("metadata") or {})
    return "/".join(filter(None, (metadata.get("namespace", ""), metadata.get("name", ""))))
