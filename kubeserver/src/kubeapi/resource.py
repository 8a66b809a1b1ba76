"""A `Resource` says where a kind lives in the REST API and which type its objects have.

For a kind without a type of its own, `Resource.of_manifests` makes one from discovery.
"""

import re
from dataclasses import dataclass
from typing import Generic, TypeVar

from kubeapi.meta import Manifest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """REST coordinates of a kind, and the type that its objects are decoded as."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    object_type: type[T]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """`clusters.cluster.karmada.io`; only the plural for the core group. As Kubernetes writes it in messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object, or of its subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{scope}/{self.plural}{tail}"

    @staticmethod
    def of_manifests(api_version: str, plural: str, kind: str, namespaced: bool) -> "Resource[Manifest]":
        group, _, version = api_version.rpartition("/")
        return Resource(group, version, plural, kind, namespaced, dict)


_API_VERSION = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/)?[a-z](?:[a-z0-9-]*[a-z0-9])?")


def is_api_version(text: str) -> bool:
    """Tells whether it is VERSION or GROUP/VERSION, as Kubernetes allows them to be called."""
    return _API_VERSION.fullmatch(text) is not None


def is_path_segment(name: str) -> bool:
    """Tells whether an object can be called so in a URL.

    Kubernetes: apimachinery's `IsValidPathSegmentName`; same, and nothing is called "".
    """
    return name not in ("", ".", "..") and "/" not in name and "%" not in name
