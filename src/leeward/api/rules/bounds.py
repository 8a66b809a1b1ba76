"""Bounds on what one policy may cost: everybody's templates are matched against it.

Generous: users of Karmada tell of some seventy selectors in a policy (karmada-io/karmada#4647). Karmada has none but
etcd's 1.5 MiB for an object, which is 25,000 selectors.
"""

from kubeapi.codec import encode
from kubeapi.field import Node, Problems
from kubeapi.status import Problem

MOST_SELECTORS = 1_000
MOST_POLICY_BYTES = 512 * 1024
MOST_POLICIES = 5_000
"""Most policies of one kind in one namespace; asked where a policy is created, with the number of those that are
there."""
_FEWER = "select by label or by kind instead of by name, or make several policies of it"


def policy_count_problem(namespace: str, plural: str, there: int) -> Problem | None:
    """Problem of one policy more in a namespace that has `there` of the kind."""
    if there < MOST_POLICIES:
        return None
    message = f"namespace {namespace} has {MOST_POLICIES} {plural} already; delete some, or let one policy select more"
    return Problem.forbidden("metadata.namespace", message)


def policy_bounds_problems(policy: Node, old: Node | None) -> Problems:
    """Problems of a new policy, and of an update that does not make what was stored before any smaller or leave it as
    it was."""
    spec, old_spec = policy["spec"], Node("", None) if old is None else old["spec"]
    selectors, old_selectors = spec["resourceSelectors"], old_spec["resourceSelectors"].list
    count = len(selectors.list)
    if count > MOST_SELECTORS and count >= len(old_selectors) and selectors.list != old_selectors:
        yield selectors.too_many(count, f"must have at most {MOST_SELECTORS} items; {_FEWER}")
        return
    size = len(encode(spec.value))
    if size > MOST_POLICY_BYTES and (not old_spec.is_set or size > len(encode(old_spec.value))):
        yield spec.too_long(f"may not be more than {MOST_POLICY_BYTES} bytes, and is {size}; {_FEWER}")
