"""Hooks of workloads: what the server writes into Jobs and DaemonSets."""

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.kinds.workloads import TEMPLATE_GENERATION, labelled_as_its_pods, select_own_pods
from kubeserver.registry.hooks import NoHook
from kubeserver.values import section

DAEMON_SETS, JOBS = "/apps/daemonsets/", "/batch/jobs/"


class JobSelectors(NoHook):
    """The selector and the labels by which a Job finds its own Pods: made at its birth, and never again.

    Whoever replaces a Job has to say them, as it is stored: left out they are missing, and they cannot change.
    Kubernetes: pkg/registry/batch/job; the same.
    """

    def before_write(self, new: Manifest, old: ReadOnlyManifest | None) -> None:
        if old is None:
            select_own_pods(new)
        labelled_as_its_pods(new)


class TemplateGenerations(NoHook):
    """The number of a DaemonSet's template, which goes up whenever the template changes.

    Nobody uses it any more, but kube-apiserver still shows it, as an annotation that only it may write.
    """

    def before_write(self, new: Manifest, old: ReadOnlyManifest | None) -> None:
        annotations = section(new["metadata"], "annotations")
        new["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: str(_generation(new, old))}


def _generation(new: ReadOnlyManifest, old: ReadOnlyManifest | None) -> int:
    if old is None:
        return 1
    before = section(old["metadata"], "annotations").get(TEMPLATE_GENERATION, "1")
    changed = not is_equal(section(new, "spec").get("template"), section(old, "spec").get("template"))
    return int(before) + changed
