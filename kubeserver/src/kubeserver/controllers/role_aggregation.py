"""ClusterRoles that are made of others: their rules are those of all ClusterRoles with the labels that they select.

So a definition brings its own role along, labelled `rbac.authorization.k8s.io/aggregate-to-view`, and whoever may view
may view its objects, too.

Kubernetes: pkg/controller/clusterroleaggregation; the same. Differs: the order of rules says nothing, so it is no
reason to write.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import aclosing

import msgspec

from kubeapi import codec
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.selectors import Selector, matches
from kubeserver.controllers.changes import changes
from kubeserver.errors import Refused
from kubeserver.handler import ADMIN_GROUP, User
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.label_selectors import parsed
from kubeserver.registry.writing import Writer
from kubeserver.store import StoreFailed
from kubeserver.values import entries, section

log = logging.getLogger(__name__)

CONTROLLER = User("system:serviceaccount:kube-system:clusterrole-aggregation-controller", (ADMIN_GROUP,))


class _Meta(msgspec.Struct, gc=False, frozen=True):
    labels: dict[str, str] | None = None


class _Role(msgspec.Struct, rename="camel", frozen=True):
    """Parts of a ClusterRole that tell whether its rules are looked at: most are neither aggregated nor selected."""

    metadata: _Meta
    aggregation_rule: Manifest | msgspec.UnsetType | None = msgspec.UNSET

    @property
    def is_aggregated(self) -> bool:
        return self.aggregation_rule is not msgspec.UNSET


class RoleAggregation:
    """`kind` is that of ClusterRoles."""

    def __init__(self, writer: Writer, kind: Kind) -> None:
        self._writer = writer
        self._kind = kind

    async def run(self) -> None:
        """Goes on until it is cancelled. One look takes in all roles that have changed by then."""
        store, seen = self._writer.store, 0
        async with aclosing(changes(store, self._kind.prefix)) as records:
            async for _ in records:
                newest = store.last_change(self._kind.prefix)
                if newest == seen:
                    continue
                seen = newest
                for role, rules in list(self._outdated()):
                    await self._write(role["metadata"]["name"], rules)

    def _outdated(self) -> Iterator[tuple[ReadOnlyManifest, list[Manifest]]]:
        """The roles whose rules are not those that they are made of, with these."""
        roles = list(_concerned([record.value for record in self._writer.store.list(self._kind.prefix).records]))
        for role in roles:
            if "aggregationRule" in role:
                rules = aggregated_rules(role, roles)
                if _as_set(rules) != _as_set(entries(role, "rules")):
                    yield role, rules

    async def _write(self, name: str, rules: list[Manifest]) -> None:
        def change(current: Manifest) -> Manifest:
            return {**current, "rules": rules} if "aggregationRule" in current else current

        try:
            await self._writer.change(self._kind, "", name, change, CONTROLLER, dry_run=False)
        except (Refused, StoreFailed) as error:
            log.warning("aggregated role %s: %s", name, error)


def aggregated_rules(role: ReadOnlyManifest, roles: Sequence[ReadOnlyManifest]) -> list[Manifest]:
    """Rules of all `roles` that `role` selects but itself, each once, in the order of their roles' names."""
    selectors = _selectors(section(role, "aggregationRule"))
    rules: dict[bytes, Manifest] = {}
    for other in sorted(roles, key=lambda each: each["metadata"]["name"]):
        labels = section(other["metadata"], "labels")
        if other["metadata"]["name"] != role["metadata"]["name"] and any(matches(s, labels) for s in selectors):
            rules |= {codec.canonical(rule): rule for rule in entries(other, "rules")}
    return list(rules.values())


def _concerned(values: Sequence[bytes]) -> Iterator[ReadOnlyManifest]:
    """Roles that are aggregated, or that one of those may select."""
    heads = [codec.decode(value, _Role) for value in values]
    selectors = [selector for head in heads for selector in _selectors(head.aggregation_rule or {})]
    for value, head in zip(values, heads, strict=True):
        labels = head.metadata.labels or {}
        if head.is_aggregated or any(matches(selector, labels) for selector in selectors):
            yield codec.decode_manifest(value)


def _selectors(aggregation_rule: ReadOnlyManifest) -> list[Selector]:
    return [parsed(each) for each in entries(aggregation_rule, "clusterRoleSelectors")]


def _as_set(rules: Sequence[Manifest]) -> set[bytes]:
    return {codec.canonical(rule) for rule in rules}
