"""The index of policies answers as the plain search through all of them does, in drawn worlds of policies."""

import random
from collections import Counter
from datetime import UTC, datetime
from typing import TypeVar

from controller_runtime.identity import Key
from kubeapi.meta import LabelSelector, LabelSelectorRequirement, Manifest, ObjectMeta
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.policy import ClusterPropagationPolicy, PropagationPolicy, PropagationSpec, ResourceSelector
from leeward.core.propagation.matching import keep_or_find_policy, selector_priority
from leeward.core.propagation.selecting import precision_in, select
from leeward.runtime.policy_index import PAUSE_AFTER, PolicyIndex, PolicyIndexes
from tests.unit.runtime.searches import ended

P = TypeVar("P", PropagationPolicy, ClusterPropagationPolicy)
NAMES, NAMESPACES, KEYS = ("a", "b", "c"), ("", "one", "two"), ("x", "y")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Drawn:
    """A world of policies, and their index."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.local: dict[str, PropagationPolicy] = {}
        self.everywhere: dict[str, ClusterPropagationPolicy] = {}
        self.preemption = seed % 4 > 0
        self.policies = PolicyIndexes(preemption=self.preemption)

    def change(self) -> None:
        """Makes a policy, changes one, or takes one away."""
        number, namespace = self.draw.randrange(6), self.draw.choice(("", *NAMESPACES[1:]))
        name = f"p{number}"
        labels = {(POLICY_ID_LABEL if namespace else CLUSTER_POLICY_ID_LABEL): f"{namespace}-{number}"}
        deleted = NOW if self.draw.random() < 0.1 else None
        metadata = ObjectMeta(name=name, namespace=namespace, labels=labels, deletion_timestamp=deleted)
        spec = PropagationSpec(
            resource_selectors=tuple(self._selector() for _ in range(self.draw.randint(1, 4))),
            priority=self.draw.choice((None, 0, 1, -1)),
            preemption=self.draw.choice(("Never", "Always", "Always")),
        )
        if namespace:
            policy = PropagationPolicy(metadata=metadata, spec=spec)
            self._put(self.local, policy, f"{namespace}/{name}")
        else:
            self._put(self.everywhere, ClusterPropagationPolicy(metadata=metadata, spec=spec), name)

    def _put(self, known: dict[str, P], policy: P, key: str) -> None:
        if self.draw.random() < 0.2:
            known.pop(key, None)
            self.policies.drop(policy)
        else:
            known[key] = policy
            self.policies.put(policy)

    def _selector(self) -> ResourceSelector:
        draw = self.draw
        return ResourceSelector(
            api_version="v1",
            kind=draw.choice(("ConfigMap", "ConfigMap", "Namespace")),
            namespace=draw.choice(("", "", *NAMESPACES[1:])),
            name=draw.choice(("", "", *NAMES)),
            label_selector=self._labels() if draw.random() < 0.6 else None,
        )

    def _labels(self) -> LabelSelector:
        draw = self.draw
        exact = {key: draw.choice("12") for key in KEYS if draw.random() < 0.3}
        expressions = tuple(
            LabelSelectorRequirement(
                key=draw.choice(KEYS),
                operator=draw.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt")),
                values=draw.choice(((), ("1",), ("1", "2"))),
            )
            for _ in range(draw.randint(0, 2))
        )
        return LabelSelector(match_labels=exact, match_expressions=expressions)

    def template(self) -> Manifest:
        draw = self.draw
        metadata: Manifest = {"name": draw.choice(NAMES)}
        kind = draw.choice(("ConfigMap", "ConfigMap", "Namespace"))
        if kind == "ConfigMap":
            metadata["namespace"] = draw.choice(NAMESPACES[1:])
        if draw.random() < 0.8:
            metadata["labels"] = {key: draw.choice("12") for key in KEYS if draw.random() < 0.6}
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata}

    def claim(self) -> str:
        return self.draw.choice(("", "", f"{self.draw.choice(NAMESPACES)}-{self.draw.randrange(6)}"))


def test_the_index_answers_as_the_plain_search_does() -> None:
    reached: Counter[str] = Counter()
    for seed in range(150):
        drawn = Drawn(seed)
        for _ in range(25):
            drawn.change()
            template, claim = drawn.template(), drawn.claim()
            local, everywhere = drawn.local.values(), drawn.everywhere.values()
            plain = keep_or_find_policy(template, claim, local, everywhere, preemption=drawn.preemption)
            indexed, _ = ended(drawn.policies.search(template, claim))
            assert indexed is plain
            kept = drawn.policies.claiming(template, claim)
            reached["preempted"] += kept is not None and kept is not plain
            for policy in (*drawn.local.values(), *drawn.everywhere.values()):
                if policy.metadata.deletion_timestamp is None and policy.namespace in (
                    "",
                    template["metadata"].get("namespace", ""),
                ):
                    precision = selector_priority(template, policy.spec, policy.namespace)
                    assert precision_in(select(policy), template) == precision
                    reached[f"precision {precision}"] += 1
            kind = "none" if plain is None else type(plain).__name__
            reached[
                kind + (" kept" if claim and plain is not None and claim in plain.metadata.labels.values() else "")
            ] += 1
    assert min(reached[f"precision {n}"] for n in range(4)) > 500, reached
    assert min(reached[k] for k in ("none", "PropagationPolicy", "ClusterPropagationPolicy")) > 200, reached
    assert min(reached[k] for k in ("PropagationPolicy kept", "ClusterPropagationPolicy kept")) > 20, reached
    assert reached["preempted"] > 20, reached


def test_l4_a_search_through_what_nothing_narrows_lets_others_run() -> None:
    index = PolicyIndex[ClusterPropagationPolicy]()
    other_than = LabelSelector(match_expressions=(LabelSelectorRequirement(key="x", operator="NotIn", values=("1",)),))
    selectors = (ResourceSelector(api_version="v1", kind="ConfigMap", label_selector=other_than),)
    for number in range(10 * PAUSE_AFTER):
        policy = ClusterPropagationPolicy(
            metadata=ObjectMeta(name=f"p{number}"), spec=PropagationSpec(resource_selectors=selectors)
        )
        index.put(policy)
    template: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "1"}}}
    found, pauses = ended(index.search(template))
    assert found is None
    assert pauses == 10


def test_d9_what_is_taken_out_leaves_nothing_behind() -> None:
    for seed in range(20):
        drawn = Drawn(seed)
        index, everywhere = PolicyIndex[PropagationPolicy](), PolicyIndex[ClusterPropagationPolicy]()
        for _ in range(30):
            drawn.change()
            for policy in drawn.local.values():
                index.put(policy)
            for policy in drawn.everywhere.values():
                everywhere.put(policy)
        for number in range(6):
            everywhere.drop(Key("", f"p{number}"))
            for namespace in NAMESPACES:
                index.drop(Key(namespace, f"p{number}"))
        for each in (index, everywhere):
            assert not any(kept for name, kept in vars(each).items() if not name.startswith("__"))
