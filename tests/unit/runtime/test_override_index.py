"""The index of override policies answers as asking each policy does, in drawn worlds of policies."""

import random
from collections import Counter
from collections.abc import Iterable

from controller_runtime.identity import Key, key_of
from kubeapi.meta import LabelSelector, LabelSelectorRequirement, Manifest, ObjectMeta
from leeward.api.override import ClusterOverridePolicy, OverridePolicy, OverrideSpec
from leeward.api.policy import ResourceSelector
from leeward.core.overrides.applicable import selects
from leeward.core.overrides.override_rule import AnyOverridePolicy, Rules
from leeward.runtime.override_index import OverrideIndex
from leeward.runtime.policy_index import PAUSE_AFTER
from tests.override_policies import applicable_policies, override_precision
from tests.unit.runtime.searches import ended

NAMES, NAMESPACES, KEYS = ("a", "b", "c"), ("one", "two"), ("x", "y")


class Drawn:
    """A world of policies, and their indexes."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.namespaced: dict[Key, OverridePolicy] = {}
        self.cluster_wide: dict[Key, ClusterOverridePolicy] = {}
        self.indexes = OverrideIndex[OverridePolicy](), OverrideIndex[ClusterOverridePolicy]()

    def change(self) -> None:
        """Makes a policy, changes one, or takes one away."""
        draw = self.draw
        metadata = ObjectMeta(name=f"p{draw.randrange(6)}", namespace=draw.choice(("", *NAMESPACES)))
        spec = OverrideSpec(resource_selectors=tuple(self._selector() for _ in range(draw.randint(0, 3))))
        is_gone = draw.random() < 0.2
        key = Key(metadata.namespace, metadata.name)
        if metadata.namespace:
            self.namespaced[key] = OverridePolicy(metadata=metadata, spec=spec)
            self.indexes[0].put(self.namespaced[key])
        else:
            self.cluster_wide[key] = ClusterOverridePolicy(metadata=metadata, spec=spec)
            self.indexes[1].put(self.cluster_wide[key])
        if is_gone:
            for policies, index in zip((self.namespaced, self.cluster_wide), self.indexes, strict=True):
                policies.pop(key, None)
                index.drop(key)

    def _selector(self) -> ResourceSelector:
        draw = self.draw
        return ResourceSelector(
            api_version="v1",
            kind=draw.choice(("ConfigMap", "ConfigMap", "Namespace")),
            namespace=draw.choice(("", "", *NAMESPACES)),
            name=draw.choice(("", "", *NAMES)),
            label_selector=self._labels() if draw.random() < 0.6 else None,
        )

    def _labels(self) -> LabelSelector:
        draw = self.draw
        exact = {key: draw.choice("12") for key in KEYS if draw.random() < 0.3}
        expression = LabelSelectorRequirement(
            key=draw.choice(KEYS), operator=draw.choice(("In", "NotIn", "Exists", "DoesNotExist")), values=("1",)
        )
        return LabelSelector(match_labels=exact, match_expressions=(expression,) * draw.randint(0, 1))

    def manifest(self) -> Manifest:
        draw = self.draw
        metadata: Manifest = {"name": draw.choice(NAMES)}
        kind = draw.choice(("ConfigMap", "ConfigMap", "Namespace"))
        if kind == "ConfigMap":
            metadata["namespace"] = draw.choice(NAMESPACES)
        if draw.random() < 0.8:
            metadata["labels"] = {key: draw.choice("12") for key in KEYS if draw.random() < 0.6}
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def policies_of(selected: Iterable[Rules]) -> list[AnyOverridePolicy]:
    return [rules[0].policy for rules in selected]


def test_the_index_answers_as_asking_each_policy_does() -> None:
    reached: Counter[str] = Counter()
    for seed in range(150):
        drawn = Drawn(seed)
        for _ in range(25):
            drawn.change()
            manifest = drawn.manifest()
            namespaced, cluster_wide = drawn.indexes
            plain = applicable_policies(manifest, drawn.namespaced.values())
            assert policies_of(ended(namespaced.search(manifest))[0]) == policies_of(plain)
            everywhere = applicable_policies(manifest, drawn.cluster_wide.values())
            assert policies_of(ended(cluster_wide.search(manifest))[0]) == policies_of(everywhere)
            reached[f"{len(plain) > 1} {len(everywhere) > 1}"] += 1
            for key, policy in drawn.cluster_wide.items():
                precision = override_precision(manifest, policy)
                assert selects(cluster_wide.selected(key), manifest) == (precision > 0)
                reached[f"precision {precision}"] += 1
    assert min(reached[f"precision {n}"] for n in range(4)) > 300, reached
    assert min(reached[f"{a} {b}"] for a in (True, False) for b in (True, False)) > 100, reached


def test_l4_a_search_through_what_nothing_narrows_lets_others_run() -> None:
    index = OverrideIndex[ClusterOverridePolicy]()
    other_than = LabelSelector(match_expressions=(LabelSelectorRequirement(key="x", operator="NotIn", values=("1",)),))
    selectors = (ResourceSelector(api_version="v1", kind="ConfigMap", label_selector=other_than),)
    for number in range(10 * PAUSE_AFTER):
        spec = OverrideSpec(resource_selectors=selectors)
        index.put(ClusterOverridePolicy(metadata=ObjectMeta(name=f"p{number}"), spec=spec))
    manifest: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "1"}}}
    assert ended(index.search(manifest)) == ((), 10)


def test_d9_what_is_taken_out_leaves_nothing_behind() -> None:
    for seed in range(20):
        drawn = Drawn(seed)
        for _ in range(30):
            drawn.change()
        for index in drawn.indexes:
            for policy in (*drawn.namespaced.values(), *drawn.cluster_wide.values()):
                index.drop(key_of(policy))
            assert not any(kept for name, kept in vars(index).items() if not name.startswith("__"))
