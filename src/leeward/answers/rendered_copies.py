"""Rendering of one application: for each cluster the manifest that its Work would carry, and the one that it carries.

The functions are those of the binding controller: replicas of the binding, override policies, pruning, marks. Replicas
are written by the rules of the kind: scripts and webhooks of interpreters are not run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from msgspec import structs

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ObjectMeta, ReadOnlyManifest
from kubeapi.untrusted import mapping_in, text_in
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.meta import find_condition
from leeward.api.names import binding_name
from leeward.api.rollout import ROLLOUT_CONDITION
from leeward.api.work import Binding, BindingResource, ResourceBinding, ResourceBindingSpec, TargetCluster, Work
from leeward.core.execution.first_ordinals import with_ordinals
from leeward.core.execution.works import build_works, manifests_by_cluster
from leeward.core.interpreter import replicas_of
from leeward.core.overrides.applicable import in_order, precision_of, rules_for, select_overridden
from leeward.core.overrides.override_rule import AnyOverridePolicy, Rules, rules_of
from leeward.core.overrides.rendering import Overridden, OverrideFailure, completed, override, too_many
from leeward.core.propagation.matching import NO_MATCH
from leeward.core.rollout.state import revisions_of_work, short, state_of

HIDDEN: Final = "***"
NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Application:
    """Objects that a rendering is made of. `binding` is None where no policy has claimed the template yet."""

    template: ReadOnlyManifest
    clusters: Mapping[str, Cluster]
    binding: Binding | None = None
    policies: Sequence[AnyOverridePolicy] = ()
    works: Mapping[str, Work] = field(default_factory=dict[str, Work])
    """Works of the binding, by cluster."""


@dataclass(frozen=True)
class RenderedCopy:
    """Manifests of one cluster: `present` is of its Work, `wanted` the rendering; `failure` says why there is none."""

    cluster: str
    wanted: Manifest | None
    present: Manifest | None
    overrides: tuple[str, ...] = ()
    """Override policies that were carried out, as KIND/NAME, in order."""
    failure: str = ""
    keeps: str = ""
    """Revision that the cluster has while a rollout has not reached it; empty where it is to have `wanted` now."""

    @property
    def is_changed(self) -> bool:
        """Tells whether the Work would be written."""
        return not self.failure and not is_equal(self.wanted, self.present)


def render_copies(application: Application, named: Sequence[str] = ()) -> list[RenderedCopy]:
    """Copies by cluster: those of the clusters that are `named`, else of all that need or have a Work.

    A cluster that is named and is no target is rendered with the replicas of the template, and a new copy without the
    ordinals that its cluster's slot gives it.
    """
    binding = _placed(application, named)
    template, own = application.template, [each for each in application.policies if each.namespace]
    cluster_wide = [each for each in application.policies if not each.namespace]
    done, failed = dict[str, Overridden](), dict[str, str]()
    for cluster, manifest in manifests_by_cluster(binding, template).items():
        result = _overridden(application.clusters.get(cluster) or _unknown(cluster), manifest, cluster_wide, own)
        if isinstance(result, OverrideFailure):
            failed[cluster] = f"{_name(result.policy)}: {result.message}" if result.policy else result.message
        else:
            done[cluster] = result
    for cluster, result in with_ordinals(done, application.works, {}, application.clusters).items():
        if isinstance(result, Overridden):
            done[cluster] = result
    works = build_works(binding, template, rendered=done, present=application.works)
    copies = [
        RenderedCopy(
            cluster,
            works[cluster]["spec"]["workload"]["manifests"][0] if cluster in works else None,
            _present(application.works.get(cluster)),
            tuple(dict.fromkeys(_name(rule.policy) for rule in done[cluster].applied)) if cluster in done else (),
            failed.get(cluster, ""),
            _kept(application.binding, application.works.get(cluster)),
        )
        for cluster in sorted({*works, *failed, *application.works})
    ]
    return [copy for copy in copies if not named or copy.cluster in named]


def without_secrets(copy: RenderedCopy) -> RenderedCopy:
    """The copy with the values of a Secret hidden; those that differ are told apart, as `kubectl diff` does."""
    if not any(each is not None and each.get("kind") == "Secret" for each in (copy.wanted, copy.present)):
        return copy
    return RenderedCopy(
        copy.cluster,
        _hidden(copy.wanted, copy.present, " (after)"),
        _hidden(copy.present, copy.wanted, " (before)"),
        copy.overrides,
        copy.failure,
        copy.keeps,
    )


def _placed(application: Application, named: Sequence[str]) -> Binding:
    """The binding, with the clusters that are named; one of all clusters where there is none."""
    metadata = mapping_in(application.template, "metadata")
    of = BindingResource(
        *(text_in(application.template, name) for name in ("apiVersion", "kind")),
        *(text_in(metadata, name) for name in ("name", "namespace", "uid")),
    )
    count, requirements = replicas_of(application.template)
    binding: Binding = application.binding or ResourceBinding(
        metadata=ObjectMeta(name=binding_name(of.kind, of.name), namespace=of.namespace),
        spec=ResourceBindingSpec(of, replicas=count, replica_requirements=requirements),
    )
    spec = binding.spec
    wanted = named or (() if application.binding is not None else sorted(application.clusters))
    more = {*wanted} - {target.name for target in spec.clusters}
    targets = (*spec.clusters, *(TargetCluster(name, count) for name in sorted(more)))
    return structs.replace(binding, spec=structs.replace(spec, clusters=targets))


def _unknown(cluster: str) -> Cluster:
    """Stand-in for a cluster that has not joined: rules mean it by its name alone."""
    return Cluster(metadata=ObjectMeta(name=cluster), spec=ClusterSpec(sync_mode="Push"))


def _overridden(
    cluster: Cluster,
    manifest: ReadOnlyManifest,
    cluster_wide: Iterable[AnyOverridePolicy],
    own: Iterable[AnyOverridePolicy],
) -> Overridden | OverrideFailure:
    """ClusterOverridePolicies come first; the manifest that they have made is what OverridePolicies select."""
    result: Overridden | OverrideFailure = Overridden(manifest)
    for policies in (cluster_wide, own):
        selected = _selecting(policies, result.manifest)
        result = too_many(selected) or completed(override(result, rules_for(cluster, selected)))
        if isinstance(result, OverrideFailure):
            return result
    return result


def _selecting(policies: Iterable[AnyOverridePolicy], manifest: ReadOnlyManifest) -> Sequence[Rules]:
    found = [(rules_of(policy), precision_of(select_overridden(policy), manifest)) for policy in policies]
    return in_order([each for each in found if each[0] and each[1] > NO_MATCH])


def _name(policy: AnyOverridePolicy) -> str:
    return f"{'OverridePolicy' if policy.namespace else 'ClusterOverridePolicy'}/{policy.name}"


def _present(work: Work | None) -> Manifest | None:
    return work.spec.workload.manifests[0] if work is not None and work.spec.workload.manifests else None


def _kept(binding: Binding | None, work: Work | None) -> str:
    """Short name of the revision of the Work, where a rollout under way is about another one."""
    if binding is None or work is None:
        return ""
    rollout = find_condition(binding.status.conditions, ROLLOUT_CONDITION, "True")
    state, revision = state_of(binding, NEVER), next(iter(revisions_of_work(work)), "")
    is_behind = rollout is not None and state is not None and revision != state.target
    return short(revision) or "unknown" if is_behind else ""


def _hidden(manifest: Manifest | None, other: Manifest | None, mark: str) -> Manifest | None:
    """`mark` is put to values that the other manifest has not."""
    if manifest is None:
        return None
    hidden, beside = {**manifest}, other if other is not None else manifest
    for part in ("data", "stringData"):
        if part in manifest:
            values, others = mapping_in(manifest, part), mapping_in(beside, part)
            hidden[part] = {
                key: HIDDEN if is_equal(others.get(key), value) else HIDDEN + mark for key, value in values.items()
            }
    return hidden
