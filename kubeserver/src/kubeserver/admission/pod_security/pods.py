"""A Pod as the checks see it, and the words for who in it does something."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kubeapi.meta import ReadOnlyManifest
from kubeserver.values import entries, section

Security = Mapping[str, Any]
"""A `securityContext`: of the Pod, or of a container."""

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


@dataclass(frozen=True)
class Pod:
    """A Pod, or what a template would make."""

    annotations: Mapping[str, str]
    spec: Mapping[str, Any]

    @classmethod
    def of(cls, holder: ReadOnlyManifest) -> "Pod":
        """`holder` has metadata and a spec: a Pod, or a template of Pods."""
        return cls(section(section(holder, "metadata"), "annotations"), section(holder, "spec"))

    @cached_property
    def containers(self) -> Sequence[Mapping[str, Any]]:
        return [container for field in _CONTAINERS for container in entries(self.spec, field)]

    @property
    def security(self) -> Security:
        return section(self.spec, "securityContext")

    @property
    def contexts(self) -> list[Security]:
        """The Pod's, and those of its containers."""
        return [self.security, *(section(each, "securityContext") for each in self.containers)]

    @property
    def is_windows(self) -> bool:
        return section(self.spec, "os").get("name") == "windows"

    @property
    def has_own_users(self) -> bool:
        """Tells whether it runs in a user namespace: root in there is nobody outside."""
        return self.spec.get("hostUsers") is False

    def containers_with(self, is_meant: Callable[[Security], bool]) -> list[str]:
        """The names of the containers with such a security context."""
        return [_name(each) for each in self.containers if is_meant(section(each, "securityContext"))]

    def setters(self, is_meant: Callable[[Security], bool]) -> str:
        """Words for who has such a security context, the Pod or containers; empty where nobody has."""
        names = self.containers_with(is_meant)
        said = [*(["pod"] if is_meant(self.security) else []), *([containers(names)] if names else [])]
        return " and ".join(said)

    def beyond(self, read: Callable[[Security], Iterable[str]], allowed: Collection[str]) -> tuple[str, list[str]]:
        """Words for who sets other values than `allowed`, and all of these values, sorted."""

        def strange(security: Security) -> set[str]:
            return set(read(security)).difference(allowed)

        values = set[str]().union(*map(strange, self.contexts))
        return self.setters(lambda security: bool(strange(security))), sorted(values)


def containers(names: Sequence[str]) -> str:
    return f"{plural('container', names)} {quoted_names(names)}"


def plural(noun: str, things: Collection[object]) -> str:
    return noun if len(things) == 1 else f"{noun}s"


def quoted_names(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _name(container: Mapping[str, Any]) -> str:
    return container.get("name", "")
