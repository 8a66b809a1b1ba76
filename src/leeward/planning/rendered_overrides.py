"""Manifests of one binding that were rendered with override policies, kept while its other clusters are rendered."""

from typing import cast

from kubeapi.codec import encode
from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.core.overrides.effort import Steps
from leeward.core.overrides.override_rule import Rules
from leeward.core.overrides.rendering import Overridden, OverrideFailure, override


class RenderedOverrides:
    """Results that were rendered for other clusters of a binding: the same rules on the same manifest give the same.

    Where only the replicas differ, and no rule looks at them, the other manifest is taken with these replicas.
    """

    def __init__(self) -> None:
        self._results: dict[tuple[int, ...], Overridden | OverrideFailure] = {}
        self._besides: dict[tuple[tuple[int, ...], bytes], Overridden] = {}
        """Results by rules and all of a manifest but its replicas."""
        self._kept: list[object] = []
        """References that keep an identity from being given to something else."""

    def override(self, before: Overridden, rules: Rules) -> Steps[Overridden | OverrideFailure]:
        """Renders as `override` does."""
        if not rules:
            return before
        applied = (*map(id, before.applied), *map(id, rules))
        key = (id(before.manifest), *applied)
        if key not in self._results:
            self._kept.append((before, rules))
            self._results[key] = yield from self._override(before, rules, applied)
        return self._results[key]

    def _override(
        self, before: Overridden, rules: Rules, applied: tuple[int, ...]
    ) -> Steps[Overridden | OverrideFailure]:
        beside = _without_replicas(before.manifest) if all(rule.ignores_replicas for rule in rules) else b""
        known = self._besides.get((applied, beside))
        if known is not None:
            made, replicas = known.manifest, before.manifest["spec"]["replicas"]
            return Overridden({**made, "spec": {**made["spec"], "replicas": replicas}}, known.applied)
        result = yield from override(before, rules)
        if beside and isinstance(result, Overridden):
            self._besides[applied, beside] = result
        return result


def _without_replicas(manifest: ReadOnlyManifest) -> bytes:
    """Bytes of the manifest but for `spec.replicas`; empty where it has none."""
    spec = manifest.get("spec")
    if not isinstance(spec, dict) or "replicas" not in spec:
        return b""
    return encode({**manifest, "spec": {**cast(Manifest, spec), "replicas": None}})
