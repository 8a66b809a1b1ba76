"""ClaimHolders: for each template, the clusters that hold the claims which it names."""

from leeward.api.work import BindingResource, ResourceBindingSpec
from leeward.core.scheduling.claim_locality import HeldClaims

_Template = tuple[str, str, str]


class ClaimHolders:
    """Holders by kind, namespace and name of a template; keep them up to date with `put`."""

    def __init__(self) -> None:
        self._held: dict[_Template, HeldClaims] = {}

    def put(self, resource: BindingResource, held: HeldClaims) -> None:
        """Takes in which clusters hold its claims; with none it is forgotten."""
        if held:
            self._held[_key(resource)] = held
        else:
            self._held.pop(_key(resource), None)

    def of(self, spec: ResourceBindingSpec) -> HeldClaims:
        return self._held.get(_key(spec.resource), {})


def _key(resource: BindingResource) -> _Template:
    return resource.kind, resource.namespace, resource.name
