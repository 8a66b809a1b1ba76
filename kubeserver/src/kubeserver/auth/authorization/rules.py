"""Rules of roles: what a rule matches, what a set of rules covers, and how missing ones are named. Pure.

Kubernetes: pkg/apis/rbac/v1/evaluation_helpers.go and pkg/registry/rbac/validation; the same rules.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from kubeserver.auth.authorization.attributes import Attributes

ALL = "*"
MAX_PARTS = 20_000
"""Each verb on each resource of each group by each name: a page of text can hold millions of them."""


class Rule(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")

    def __str__(self) -> str:
        parts = (
            ("APIGroups", self.api_groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.non_resource_urls),
            ("ResourceNames", self.resource_names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{name}:{quoted(values)}" for name, values in parts if values) + "}"


EVERYTHING = (
    Rule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    Rule(verbs=(ALL,), non_resource_urls=(ALL,)),
)


def matches(rule: Rule, asked: Attributes) -> bool:
    if not _has(rule.verbs, asked.verb):
        return False
    if asked.path:
        return _path_matches(rule.non_resource_urls, asked.path)
    return (
        _has(rule.api_groups, asked.group)
        and _resource_matches(rule.resources, asked.full_resource, asked.subresource)
        and (not rule.resource_names or asked.name in rule.resource_names)
    )


def missing(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """Parts of `wanted` that are not covered by `owned`, compact and sorted. Raises: ValueError for too many single
    things."""
    parts = list(islice((part for rule in wanted for part in _broken_down(rule)), MAX_PARTS + 1))
    if len(parts) > MAX_PARTS:
        raise ValueError(f"the rules allow more than {MAX_PARTS} single things: write * where all of a kind is meant")
    return sorted(_compact(part for part in parts if not any(_covers(rule, part) for rule in owned)), key=str)


def quoted(values: Iterable[str]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


def _has(values: Sequence[str], asked: str) -> bool:
    return asked in values or ALL in values


def _resource_matches(resources: Sequence[str], asked: str, subresource: str) -> bool:
    if ALL in resources or asked in resources:
        return True
    return bool(subresource) and f"*/{subresource}" in resources


def _path_matches(urls: Sequence[str], path: str) -> bool:
    return any(url == path or (url.endswith(ALL) and path.startswith(url.rstrip(ALL))) for url in urls)


def _broken_down(rule: Rule) -> Iterator[Rule]:
    """One rule for each single thing that `rule` allows."""
    for verb in rule.verbs:
        for url in rule.non_resource_urls:
            yield Rule(verbs=(verb,), non_resource_urls=(url,))
        for group in rule.api_groups:
            for resource in rule.resources:
                for name in rule.resource_names or ("",):
                    yield Rule((verb,), (group,), (resource,), (name,) if name else ())


def _covers(owned: Rule, part: Rule) -> bool:
    if not _has(owned.verbs, part.verbs[0]):
        return False
    if part.non_resource_urls:
        return _path_matches(owned.non_resource_urls, part.non_resource_urls[0])
    resource = part.resources[0]
    subresource = resource.partition("/")[2]
    named = not owned.resource_names or (bool(part.resource_names) and part.resource_names[0] in owned.resource_names)
    return (
        _has(owned.api_groups, part.api_groups[0])
        and _resource_matches(owned.resources, resource, subresource)
        and named
    )


def _compact(parts: Iterable[Rule]) -> list[Rule]:
    """Joins the verbs of rules that are otherwise the same."""
    verbs: dict[Rule, dict[str, None]] = {}
    for part in parts:
        verbs.setdefault(msgspec.structs.replace(part, verbs=()), {})[part.verbs[0]] = None
    return [msgspec.structs.replace(rule, verbs=tuple(found)) for rule, found in verbs.items()]
