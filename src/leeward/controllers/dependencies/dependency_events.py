"""Events of the dependencies distributor: on dependants, that something follows them or cannot; on the binding of an
object, that those who need it disagree.

A success is told when the clusters of a dependant have changed, a disagreement once. (Karmada tells each look.)
"""

from collections.abc import Collection

from controller_runtime import NORMAL, WARNING, Rank, reference_of
from kubeclient import Conflict, WorldError
from leeward.api.names import binding_name
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.api.work import ResourceBinding
from leeward.core.dependencies.attached import Dependant
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.templates import TemplateKey

COMPONENT = "dependencies-distributor"
SUCCEEDED, FAILED = "SyncScheduleResultToDependenciesSucceed", "SyncScheduleResultToDependenciesFailed"
CONFLICT = "DependencyPolicyConflict"
MOST_TOLD = 8
"""Number of dependants that are told that one object cannot follow them."""


class DependencyEvents:
    def __init__(self, plane: ControlPlane) -> None:
        self._bindings = plane.informers.of(RESOURCE_BINDINGS)
        self._recorder = plane.recorder(COMPONENT)
        self._conflicts: dict[TemplateKey, tuple[str, ...]] = {}
        """Conflicts that were told last of each object."""

    def succeeded(self, present: ResourceBinding | None, dependants: Collection[Dependant]) -> None:
        """Tells each dependant of which the clusters are others than in `present`."""
        listed = present.spec.required_by if present is not None else ()
        before = {(snapshot.namespace, snapshot.name): snapshot.clusters for snapshot in listed}
        for dependant in dependants:
            if before.get(dependant.name, ()) != dependant.snapshot.clusters:
                self._tell(dependant, NORMAL, SUCCEEDED, "Sync schedule results to dependencies succeed.", Rank.STEP)

    def failed(self, needed: TemplateKey, dependants: Collection[Dependant], error: WorldError) -> None:
        """A conflict is no failure: it is tried again at once."""
        if isinstance(error, Conflict):
            return
        for dependant in list(dependants)[:MOST_TOLD]:
            self._tell(dependant, WARNING, FAILED, f"{needed.kind} {needed.key} does not follow: {error}")

    def disagreed(self, needed: TemplateKey, conflicts: tuple[str, ...]) -> None:
        """Tells the binding of the object, once for each disagreement."""
        if self._conflicts.get(needed, ()) == conflicts:
            return
        self.forget(needed)
        if not conflicts:
            return
        self._conflicts[needed] = conflicts
        found = self._bindings.get(binding_name(needed.kind, needed.key.name), needed.key.namespace)
        if found is not None:
            message = f"Dependency policy conflict detected: {'; '.join(conflicts)}."
            self._recorder.warning(RESOURCE_BINDINGS, found, CONFLICT, message)

    def forget(self, needed: TemplateKey) -> None:
        self._conflicts.pop(needed, None)

    def _tell(self, dependant: Dependant, event_type: str, reason: str, message: str, rank: Rank = Rank.CHANGE) -> None:
        found = self._bindings.get(dependant.snapshot.name, dependant.snapshot.namespace)
        if found is not None:
            self._recorder.note(reference_of(RESOURCE_BINDINGS, found), event_type, reason, message, rank)
