"""The selector and the labels by which a Job finds its own Pods: made at its birth, and never again.

Whoever replaces a Job has to say them, as it is stored: left out they are missing, and they cannot change.

Kubernetes: pkg/registry/batch/job; the same.
"""

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.kinds.workloads import labelled_as_its_pods, select_own_pods
from kubeserver.registry.hooks import NoHook

JOBS = "/batch/jobs/"


class JobSelectors(NoHook):
    """A `Hook`."""

    def before_write(self, new: Manifest, old: ReadOnlyManifest | None) -> None:
        if old is None:
            select_own_pods(new)
        labelled_as_its_pods(new)
