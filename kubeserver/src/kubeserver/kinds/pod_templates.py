"""The rules of a pod template, whatever it is a part of."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.label_selectors import label_problems
from kubeserver.kinds.metadata import annotation_problems
from kubeserver.kinds.pod_rules import validate_pod_spec
from kubeserver.values import entries, section


def validate_pod_template(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    """Problems of a template that is an object itself."""
    del old
    return list(template_problems(section(manifest, "template"), "template"))


def template_problems(
    template: Mapping[str, Any], path: str, claims: Sequence[Mapping[str, Any]] = ()
) -> Iterator[Problem]:
    """`claims` are templates, too: each makes a volume of its name in every Pod."""
    metadata, spec = section(template, "metadata"), section(template, "spec")
    yield from label_problems(section(metadata, "labels"), f"{path}.labels")
    yield from annotation_problems(section(metadata, "annotations"), f"{path}.annotations")
    made = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in (section(claim, "metadata").get("name", "") for claim in claims)
    ]
    own = entries(spec, "volumes")
    named = {volume.get("name") for volume in own}
    volumes = [*own, *(volume for volume in made if volume["name"] not in named)]
    yield from validate_pod_spec({**spec, "volumes": volumes}, f"{path}.spec")
