"""The number of a DaemonSet's template, which goes up whenever the template changes.

Nobody uses it any more, but kube-apiserver still shows it, as an annotation that only it may write.
"""

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.kinds.workloads import TEMPLATE_GENERATION
from kubeserver.registry.hooks import NoHook
from kubeserver.values import section

DAEMON_SETS = "/apps/daemonsets/"


class TemplateGenerations(NoHook):
    """A `Hook`."""

    def before_write(self, new: Manifest, old: ReadOnlyManifest | None) -> None:
        annotations = section(new["metadata"], "annotations")
        new["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: str(_generation(new, old))}


def _generation(new: ReadOnlyManifest, old: ReadOnlyManifest | None) -> int:
    if old is None:
        return 1
    before = section(old["metadata"], "annotations").get(TEMPLATE_GENERATION, "1")
    changed = section(new, "spec").get("template") != section(old, "spec").get("template")
    return int(before) + changed
