"""Paths of requests, and what each is about, in the words of the store's keys."""

from functools import lru_cache
from typing import NamedTuple

API, APIS = ("api", 3), ("apis", 4)
"""Beginning of a path, and the index of its part that is the resource or its namespace."""
MOST_PATHS = 1_000
"""Most paths of which is remembered what they are about: parties ask for the same ones again and again."""


class Target(NamedTuple):
    """An object or a collection. `prefix` is how the keys begin; `name` is empty for a collection."""

    prefix: str
    name: str
    subresource: str

    @property
    def key(self) -> str:
        return self.prefix + self.name


@lru_cache(maxsize=MOST_PATHS)
def target_of(path: str) -> Target | None:
    """None for what is neither."""
    parts = path.strip("/").split("/")
    start = next((count for root, count in (API, APIS) if parts[0] == root), 0)
    if not start or len(parts) < start:
        return None
    group = parts[1] if parts[0] == APIS[0] else ""
    rest = parts[start - 1 :]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    is_wide = not namespace and not name
    return Target(f"/{group}/{plural}/" if is_wide else f"/{group}/{plural}/{namespace}/", name, subresource)


def resource_of(key: str) -> str:
    """The part of a key, or of a prefix, that names the group and the plural."""
    return key[: key.find("/", key.find("/", 1) + 1) + 1]
