"""Flux: sources, charts, HelmRelease and Kustomization, which are ready when `Ready` is true for a good reason."""

from collections.abc import Callable, Mapping, Sequence

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import put
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.rules import Rules, Status
from leeward.core.interpreter.thirdparty import aggregation
from leeward.core.interpreter.thirdparty.aggregation import Fold, fold_statuses
from leeward.core.interpreter.thirdparty.kruise import required_spec
from leeward.core.interpreter.thirdparty.merged_conditions import has_condition, merge_conditions
from leeward.core.interpreter.thirdparty.pod_templates import Path
from leeward.core.interpreter.thirdparty.references import named_dependencies, values_dependencies
from leeward.core.interpreter.thirdparty.reflection import reflected_with_generations

_RECONCILED = ("ReconciliationSucceeded",)
_STORED = ("Succeeded",)
_PULLED = ("Succeeded", "ChartPullSucceeded")
_ARTIFACT: Mapping[str, Fold] = {"artifact": aggregation.latest}
_LOCATED: Mapping[str, Fold] = {"artifact": aggregation.latest, "url": aggregation.latest_text}
_FAILURES = ("failures", "installFailures", "upgradeFailures")
_RELEASE = ("helmChart", "lastAppliedRevision", "lastAttemptedRevision", "lastAttemptedValuesChecksum")
_REVISIONS = ("lastAppliedRevision", "lastAttemptedRevision")


def _retain_suspend(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """Keeps `suspend` as it is in the member: who suspends it there is not overruled."""
    if (suspend := required_spec(observed).get("suspend")) is not None:
        required_spec(desired)
        put(desired, suspend, "spec", "suspend")


def _aggregate(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem], folds: Mapping[str, Fold]) -> Status:
    status = fold_statuses(template, items, {**folds, "conditions": aggregation.latest})
    status.pop("conditions", None)
    conditions = merge_conditions(items)
    generation = {"observedGeneration": aggregation.observed_generation(template, items)}
    return {**status, **generation, **({"conditions": conditions} if conditions else {})}


_SECRET_REF, _VERIFY = ("secretRef", "name"), ("verify", "secretRef", "name")
_KUBE_CONFIG, _ACCOUNT = ("kubeConfig", "secretRef", "name"), ("serviceAccountName",)
_DECRYPTION, _CERTIFICATE = ("decryption", "secretRef", "name"), ("certSecretRef", "name")
_OF_CHART = ("chart", "spec", "verify", "secretRef", "name")


def _named(*secrets: Path, account: bool = False) -> Callable[[ReadOnlyManifest], list[DependentObjectReference]]:
    kinds = {**dict.fromkeys(secrets, "Secret"), **({_ACCOUNT: "ServiceAccount"} if account else {})}
    return lambda manifest: named_dependencies(manifest, kinds)


def _release_dependencies(manifest: ReadOnlyManifest) -> list[DependentObjectReference]:
    named = _named(_OF_CHART, _KUBE_CONFIG, account=True)(manifest)
    return [*named, *values_dependencies(manifest, "spec", "valuesFrom")]


def _rules(
    reasons: Sequence[str],
    fields: Sequence[str],
    folds: Mapping[str, Fold],
    dependencies: Callable[[ReadOnlyManifest], list[DependentObjectReference]],
) -> Rules:
    return Rules(
        dependencies=dependencies,
        reflect=lambda manifest: reflected_with_generations(manifest, ("conditions", *fields)),
        is_healthy=lambda manifest: has_condition(manifest.get("status"), "Ready", reasons),
        aggregate=lambda template, items: _aggregate(template, items, folds),
        retain=_retain_suspend,
    )


KINDS = {
    ("helm.toolkit.fluxcd.io/v2beta1", "HelmRelease"): _rules(
        _RECONCILED,
        (*_FAILURES, *_RELEASE, "lastReleaseRevision", "observedGeneration"),
        {
            **dict.fromkeys(_FAILURES, aggregation.added),
            **dict.fromkeys(_RELEASE, aggregation.latest_said_or_kept),
            "lastReleaseRevision": aggregation.latest_or_kept,
        },
        _release_dependencies,
    ),
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"): _rules(
        _RECONCILED,
        (*_REVISIONS, "observedGeneration"),
        dict.fromkeys(_REVISIONS, aggregation.latest_said),
        _named(_DECRYPTION, _KUBE_CONFIG, account=True),
    ),
    ("source.toolkit.fluxcd.io/v1", "GitRepository"): _rules(
        _STORED,
        ("artifact", "observedGeneration", "observedIgnore", "observedRecurseSubmodules"),
        _ARTIFACT,
        _named(_SECRET_REF, _VERIFY),
    ),
    ("source.toolkit.fluxcd.io/v1beta2", "Bucket"): _rules(
        _STORED, ("artifact", "observedGeneration", "observedIgnore", "url"), _LOCATED, _named(_SECRET_REF)
    ),
    ("source.toolkit.fluxcd.io/v1beta2", "HelmChart"): _rules(
        _PULLED,
        ("artifact", "observedChartName", "observedSourceArtifactRevision", "url"),
        {
            **_LOCATED,
            "observedChartName": aggregation.latest_text,
            "observedSourceArtifactRevision": aggregation.latest_text,
        },
        _named(_VERIFY),
    ),
    ("source.toolkit.fluxcd.io/v1beta2", "HelmRepository"): _rules(
        _STORED, ("artifact", "observedGeneration", "url"), _LOCATED, _named(_SECRET_REF)
    ),
    ("source.toolkit.fluxcd.io/v1beta2", "OCIRepository"): _rules(
        _STORED,
        ("artifact", "observedGeneration", "url"),
        _LOCATED,
        _named(_SECRET_REF, _VERIFY, _CERTIFICATE, account=True),
    ),
}
