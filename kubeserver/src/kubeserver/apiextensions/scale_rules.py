"""Rules of the numbers of a custom kind, so that its scale subresource can show them."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.columns import at
from kubeserver.kinds.kind import Validate, nothing_to_check

_MOST = 2**31 - 1


def scale_validator(scale: Mapping[str, Any] | None, *, status: bool = False) -> Validate:
    """Checks the replicas that the scale subresource shows; with `status`, those of the status."""
    if scale is None:
        return nothing_to_check
    path: str = scale["statusReplicasPath" if status else "specReplicasPath"]

    def validate(manifest: Manifest, old: Manifest | None) -> list[Problem]:
        del old
        return list(_problems(at(manifest, path.removeprefix(".")), path))

    return validate


def _problems(replicas: Any, path: str) -> Iterator[Problem]:
    if replicas is None:
        return
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        said = f"{path} accessor error: {replicas} is of the type {_go_type(replicas)}, expected int64"
        yield Problem.invalid(path, 0, said)
    elif replicas < 0:
        yield Problem.invalid(path, replicas, "should be a non-negative integer")
    elif replicas > _MOST:
        yield Problem.invalid(path, replicas, f"should be less than or equal to {_MOST}")


def _go_type(value: Any) -> str:
    names: dict[type, str] = {
        str: "string",
        bool: "bool",
        float: "float64",
        list: "[]interface {}",
        dict: "map[string]interface {}",
    }
    return next((name for kind, name in names.items() if isinstance(value, kind)), "interface {}")
