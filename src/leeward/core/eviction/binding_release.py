"""Release of a binding: what there is to run of its template, by which a failover tells that a user has made another.

The detector notes a digest of the template without its metadata on the binding. The template's resourceVersion moves
with labels and annotations too, and a tool that writes one now and then would begin the time of a target that takes
nothing anew for ever; it tells the release only where a binding has no digest yet: an earlier version, Karmada or
somebody else made it. What was remembered by the resourceVersion stays good while that is the present one. Scaling is
no release.

Holds: C1, L2. Karmada has no such thing.
"""

from leeward.api.names import TEMPLATE_CONTENTS_ANNOTATION
from leeward.api.work import Binding


def release_of(binding: Binding) -> str:
    """The digest of the template's contents; its resourceVersion where the binding has none."""
    return binding.metadata.annotations.get(TEMPLATE_CONTENTS_ANNOTATION) or binding.spec.resource.resource_version


def is_other_release(binding: Binding, release: str, replicas: int) -> bool:
    """Tells whether the binding has another release than the one that was remembered, which asked for `replicas`."""
    is_same = release in (release_of(binding), binding.spec.resource.resource_version)
    return not is_same and replicas == binding.spec.replicas
