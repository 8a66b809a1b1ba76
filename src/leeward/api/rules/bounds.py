"""Bounds on what one policy or placement may cost: everybody's templates are matched against it.

Generous: users of Karmada tell of some seventy selectors in a policy (karmada-io/karmada#4647). Karmada has none but
etcd's 1.5 MiB for an object, which is 25,000 selectors.
"""

from collections import Counter

from kubeapi.codec import encode
from kubeapi.diff import is_equal
from kubeapi.field import Node, Problems
from kubeapi.status import Problem
from leeward.api.names import DRAIN_TAINT, FLAPPING_TAINT
from leeward.api.policy import Placement

MOST_OVERRIDERS = 100
"""Most overriders of one rule, and of all rules of an override policy that mean one cluster: each goes through the
manifest."""
MOST_AFFINITIES = 100
"""Most affinity terms of one placement, with their overflow affinities: each is asked about every cluster."""
MOST_PLACEMENT_BYTES = 256 * 1024
MOST_SELECTORS = 1_000
MOST_POLICY_BYTES = 512 * 1024
MOST_WORKLOADS = 2_000
"""Most workloads of a WorkloadRebalancer, whose status names each again."""
MOST_CLUSTERS = 5_000
"""Most clusters that one binding names, as its own, as those of dependents or as those that it leaves: each has a
Work."""
MOST_REFERENCES = 20_000
"""Most entries of these lists together: they may name a cluster several times. Both bounds are doubled for a stored
binding: in a failover, the cluster that is left stays beside the new one."""
MOST_TAINTS = 2_000
"""Most taints of a Cluster; policies may have brought each of them."""
MOST_POLICY_TAINTS = 100
_OWN_GROUP, _OWN = "cluster.karmada.io/", (DRAIN_TAINT, FLAPPING_TAINT)
MOST_WEBHOOKS, MOST_WEBHOOK_RULES = 100, 1_000
"""Most webhooks of one configuration, and most rules of all of these: each object is held against each rule."""
MOST_NAME_LETTERS = 253
MOST_POLICIES = 5_000
"""Most policies of one kind in one namespace; asked where a policy is created, with the number of those that are
there."""
_MOST_TOLD_CHARACTERS = 256
_FEWER_AFFINITIES = (
    f"must have at most {MOST_AFFINITIES} affinities, overflow affinities included; "
    "join terms that name their clusters one by one, or select them by label"
)
_SMALLER_PLACEMENT = f"may not be more than {MOST_PLACEMENT_BYTES} bytes; select clusters by label instead of by name"
FEWER_OVERRIDERS = (
    f"a policy may have at most {MOST_OVERRIDERS} for one cluster; join those of one field, or make several policies"
)
_SEVERAL = "make several of it"
_OF_LISTS = "in clusters, requiredBy and gracefulEvictionTasks; copy its template under several names, each for fewer"
_FEWER = "select by label or by kind instead of by name, or make several policies of it"


def policy_count_problem(namespace: str, plural: str, there: int) -> Problem | None:
    """Problem of one policy more in a namespace that has `there` of the kind."""
    if there < MOST_POLICIES:
        return None
    message = f"namespace {namespace} has {MOST_POLICIES} {plural} already; delete some, or let one policy select more"
    return Problem.forbidden("metadata.namespace", message)


def placement_fault(placement: Placement | None) -> str:
    """Reason for which nothing is scheduled by a placement that was stored before its bounds, or past admission; empty
    for others."""
    if placement is None:
        return ""
    count = sum(1 + len(term.overflow_affinities or ()) for term in placement.cluster_affinities)
    if count > MOST_AFFINITIES:
        return f"placement.clusterAffinities: Too many: {count}: {_FEWER_AFFINITIES}"
    size = len(encode(placement))
    return f"placement: Too long: {size} bytes: {_SMALLER_PLACEMENT}" if size > MOST_PLACEMENT_BYTES else ""


def placement_bounds_problems(placement: Node, old: Node) -> Problems:
    """Problems of a new placement, and of one that is neither smaller than what was stored before nor the same."""
    if is_equal(placement.value, old.value):
        return
    count, affinities = _affinities(placement), placement["clusterAffinities"]
    if count > MOST_AFFINITIES and count >= _affinities(old):
        yield affinities.too_many(count, _FEWER_AFFINITIES)
        return
    size = len(encode(placement.value))
    if size > MOST_PLACEMENT_BYTES and (not old.is_set or size >= len(encode(old.value))):
        yield placement.too_long(f"is {size} bytes: {_SMALLER_PLACEMENT}")


def overrider_count_problems(policy: Node, old: Node | None) -> Problems:
    """Problems of rules that bring too many overriders to one cluster, and more than those that were stored before."""
    stored = [] if old is None else [*_overriders_of_rules(old["spec"]), *_overriders_by_cluster(old["spec"]).values()]
    most = max(MOST_OVERRIDERS, *stored, 0)
    for place, count in enumerate(_overriders_of_rules(policy["spec"])):
        if count > most:
            yield _rules_of(policy["spec"])[place]["overriders"].too_many(count, FEWER_OVERRIDERS)
            return
    for where, count in _overriders_by_cluster(policy["spec"]).items():
        if count > most:
            told = where[:_MOST_TOLD_CHARACTERS]
            yield policy["spec"]["overrideRules"].too_many(count, f"overriders for {told}: {FEWER_OVERRIDERS}")
            return


def _overriders_by_cluster(spec: Node) -> dict[str, int]:
    """Number of overriders that rules surely have together, by the clusters that these mean.

    Surely meant are the clusters that a rule names, and all of a rule without a target. Rules with the same target mean
    the same clusters. The labels and fields of clusters are not known here.
    """
    everywhere, counts = 0, Counter[str]()
    for rule, count in zip(_rules_of(spec), _overriders_of_rules(spec), strict=True):
        target = rule["targetCluster"]
        asked = {field for field, value in target.mapping.items() if value}
        if not asked:
            everywhere += count
        elif "clusterNames" in asked <= {"clusterNames", "exclude"}:
            named = _texts(target["clusterNames"]) - _texts(target["exclude"])
            counts.update({f"the cluster {name}": count for name in named})
        else:
            counts.update({f"the clusters of targetCluster {encode(target.value).decode()}": count})
    return {"every cluster": everywhere, **{where: everywhere + count for where, count in counts.items()}}


def _rules_of(spec: Node) -> list[Node]:
    """Rules of the policy; the spec itself is the older form of a single one."""
    return [spec, *spec["overrideRules"].items()]


def _overriders_of_rules(spec: Node) -> list[int]:
    return [sum(len(value.list) for _, value in rule["overriders"].entries()) for rule in _rules_of(spec)]


def _texts(items: Node) -> set[str]:
    return {item for item in items.list if isinstance(item, str)}


def _affinities(placement: Node) -> int:
    return sum(1 + len(term["overflowAffinities"].list) for term in placement["clusterAffinities"].items())


def policy_bounds_problems(policy: Node, old: Node | None) -> Problems:
    """Problems of a new policy, and of an update that does not make what was stored before any smaller or leave it as
    it was."""
    spec, old_spec = policy["spec"], Node("", None) if old is None else old["spec"]
    yield from _first_of(
        _count_problems(spec["resourceSelectors"], old_spec["resourceSelectors"], MOST_SELECTORS, _FEWER),
        placement_bounds_problems(spec["placement"], old_spec["placement"]),
        _size_problems(spec, old_spec, _FEWER),
    )


def rebalancer_bounds_problems(rebalancer: Node, old: Node | None) -> Problems:
    """Problems of a new WorkloadRebalancer, and of an update that makes the stored one no smaller."""
    spec, old_spec = rebalancer["spec"], Node("", None) if old is None else old["spec"]
    yield from _first_of(
        _count_problems(spec["workloads"], old_spec["workloads"], MOST_WORKLOADS, _SEVERAL),
        _size_problems(spec, old_spec, _SEVERAL),
    )


def cluster_bounds_problems(cluster: Node, old: Node | None) -> Problems:
    """Problems of a Cluster, and of an update that brings more taints than were stored. Those of its condition do not
    count: an outage must always be written."""
    taints, before = cluster["spec"]["taints"], 0 if old is None else _users_taints(old["spec"]["taints"])
    if (count := _users_taints(taints)) > max(MOST_TAINTS, before):
        yield taints.too_many(count, f"must have at most {MOST_TAINTS} items; join some of them")


def _users_taints(taints: Node) -> int:
    return sum(not (key := taint["key"].text).startswith(_OWN_GROUP) and key not in _OWN for taint in taints.items())


def taint_policy_bounds_problems(policy: Node, old: Node | None) -> Problems:
    stored = Node("", None) if old is None else old
    yield from _count_problems(policy["spec"]["taints"], stored["spec"]["taints"], MOST_POLICY_TAINTS, _SEVERAL)


def webhooks_bounds_problems(configuration: Node, old: Node | None) -> Problems:
    """Problems of a configuration of interpreter webhooks, and of an update that makes the stored one no smaller."""
    hooks, stored = configuration["webhooks"], Node("", None) if old is None else old["webhooks"]
    yield from _count_problems(hooks, stored, MOST_WEBHOOKS, "make several configurations")
    rules = _rules_of_webhooks(hooks)
    if rules > max(MOST_WEBHOOK_RULES, _rules_of_webhooks(stored)):
        yield hooks.too_many(
            rules, f"they may have {MOST_WEBHOOK_RULES} rules together; name several kinds in one rule"
        )


def _rules_of_webhooks(hooks: Node) -> int:
    return sum(len(hook["rules"].list) for hook in hooks.items())


def binding_bounds_problems(binding: Node, old: Node | None) -> Problems:
    """Problems of a binding that asks for too many Works, and for more than the stored one, or whose template has no
    name that an object may have. A failover may exchange stored clusters, and keep the old beside the new."""
    spec, stored = binding["spec"], Node("", None) if old is None else old["spec"]
    for field in ("apiVersion", "kind", "namespace", "name", "uid", "resourceVersion"):
        text = spec["resource"][field]
        if len(text.text) > MOST_NAME_LETTERS and text.value != stored["resource"][field].value:
            yield text.too_long(f"may not be more than {MOST_NAME_LETTERS} characters, as names in Kubernetes")
    fields = ("clusters", "requiredBy", "gracefulEvictionTasks")
    if all(is_equal(spec[field].value, stored[field].value) for field in fields):
        return
    named, before = _clusters_named_by(spec), _clusters_named_by(stored)
    most, clusters = (bound * (1 if old is None else 2) for bound in (MOST_REFERENCES, MOST_CLUSTERS))
    if sum(named.values()) > max(most, sum(before.values())):
        yield spec.too_many(sum(named.values()), f"may have at most {most} entries {_OF_LISTS}")
    elif len(named) > max(clusters, len(before)):
        yield spec.too_many(len(named), f"may name at most {clusters} clusters {_OF_LISTS}")


def _clusters_named_by(spec: Node) -> Counter[str]:
    """Names of clusters that a binding has or is to have Works in, with how often it names each."""
    lists = [spec["clusters"], *(each["clusters"] for each in spec["requiredBy"].items())]
    named = Counter(target["name"].text for clusters in lists for target in clusters.items())
    return named + Counter(task["fromCluster"].text for task in spec["gracefulEvictionTasks"].items())


def _first_of(*checks: Problems) -> Problems:
    """Problems of the first check that has any."""
    for check in checks:
        if found := list(check):
            yield from found
            return


def _count_problems(items: Node, stored: Node, most: int, way_out: str) -> Problems:
    """Problem of a list that is too long, unless an update shortens it or leaves it as it was."""
    count = len(items.list)
    if count > most and count >= len(stored.list) and items.list != stored.list:
        yield items.too_many(count, f"must have at most {most} items; {way_out}")


def _size_problems(spec: Node, old_spec: Node, way_out: str) -> Problems:
    size = len(encode(spec.value))
    if size > MOST_POLICY_BYTES and (not old_spec.is_set or size > len(encode(old_spec.value))):
        yield spec.too_long(f"may not be more than {MOST_POLICY_BYTES} bytes, and is {size}; {way_out}")
