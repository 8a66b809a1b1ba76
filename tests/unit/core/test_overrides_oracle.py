"""Overrides, against Karmada's recorded answers."""

from typing import Any, cast

from kubeapi import codec
from kubeapi.codec import from_wire
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_CLUSTER_OVERRIDES_ANNOTATION, APPLIED_OVERRIDES_ANNOTATION
from leeward.api.override import ClusterOverridePolicy, FieldOverrider, ImageOverrider, OverridePolicy
from leeward.core.overrides.applicable import rules_for
from leeward.core.overrides.images import override_image, parse_image
from leeward.core.overrides.override_rule import AnyOverridePolicy
from leeward.core.overrides.rendering import Overridden, OverrideFailure, completed, override
from tests.oracle import Case, Difference, all_at, load, replay
from tests.override_policies import applicable_policies

FAILED = "refused"


def cluster_policies_of(case: Case) -> list[ClusterOverridePolicy]:
    return from_wire(case.given["clusterOverridePolicies"], list[ClusterOverridePolicy])


def policies_of(case: Case) -> list[OverridePolicy]:
    return from_wire(case.given["overridePolicies"], list[OverridePolicy])


def rendered(case: Case) -> Overridden | OverrideFailure:
    cluster, result = from_wire(case.given["cluster"], Cluster), Overridden(case.given["object"])
    cluster_wide = applicable_policies(result.manifest, cluster_policies_of(case))
    after = completed(override(result, rules_for(cluster, cluster_wide)))
    if isinstance(after, OverrideFailure):
        return after
    own = applicable_policies(after.manifest, policies_of(case))
    return completed(override(after, rules_for(cluster, own)))


def answer_of(result: Overridden | OverrideFailure) -> object:
    """The manifest, and what is said of it; the texts of errors are our own."""
    if isinstance(result, OverrideFailure):
        assert result.message
        return FAILED
    said = result.annotations
    return result.manifest, *(
        codec.decode_any(said.get(annotation, "[]").encode())
        for annotation in (APPLIED_CLUSTER_OVERRIDES_ANNOTATION, APPLIED_OVERRIDES_ANNOTATION)
    )


def recorded(case: Case) -> object:
    out = case.expected
    if "error" in out:
        return FAILED
    return out["object"], all_at(out, "appliedClusterOverrides"), all_at(out, "appliedNamespacedOverrides")


def field_overriders(policy: AnyOverridePolicy) -> list[FieldOverrider]:
    rules = [rule.overriders for rule in policy.spec.override_rules]
    older = [policy.spec.overriders] if policy.spec.overriders else []
    return [each for overriders in (*rules, *older) for each in overriders.field_overrider]


def says_neither(case: Case) -> Difference | None:
    """Karmada empties the text; what changes the text afterwards then finds another one than here."""
    every = [each for p in (*cluster_policies_of(case), *policies_of(case)) for each in field_overriders(p)]
    emptied = {each.field_path for each in every if not each.json and not each.yaml}
    changed = {each.field_path for each in every if each.json or each.yaml}
    if not emptied:
        return None

    def check(_: Case, got: Any) -> None:
        if FAILED in (got, want := recorded(case)):
            assert emptied & changed
            return
        ours, theirs = cast(tuple[Any, ...], got), cast(tuple[Any, ...], want)
        assert ours[1:] == theirs[1:]
        assert without(ours[0], emptied) == without(theirs[0], emptied)
        assert any(theirs[0]["data"][key] == "" != ours[0]["data"][key] for key in names_of(emptied))

    return Difference("a field overrider without json and yaml leaves the text; admission refuses it", check)


def names_of(paths: set[str]) -> set[str]:
    return {path.removeprefix("/data/").replace("~1", "/") for path in paths}


def without(manifest: dict[str, Any], paths: set[str]) -> dict[str, Any]:
    kept = {key: value for key, value in manifest["data"].items() if key not in names_of(paths)}
    return {**manifest, "data": kept}


def test_overrides_are_carried_out_as_karmada_does() -> None:
    replay(
        load("overrides"),
        lambda case: answer_of(rendered(case)),
        recorded,
        differs=says_neither,
        at_least=600,
    )


def test_images_are_overridden_as_karmada_does() -> None:
    def answer(case: Case) -> object:
        overrider = from_wire(case.given["overrider"], ImageOverrider)
        try:
            image = parse_image(case.given["image"])
            parts = {
                "hostname": image.registry,
                "repository": image.repository,
                "tagOrDigest": image.tag or image.digest,
            }
            return {"image": override_image(case.given["image"], overrider), "parsed": parts}
        except ValueError:
            return FAILED

    replay(
        load("image_override"),
        answer,
        lambda case: FAILED if "error" in case.expected else case.expected,
        at_least=200,
    )
