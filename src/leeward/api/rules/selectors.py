"""Rules that policies of several kinds share: which clusters and which templates they select."""

from kubeapi.field import Node, Problems

_FIELDS = ("provider", "region", "zone")


def affinity_problems(affinity: Node) -> Problems:
    """A field selector knows the fields provider, region and zone, and the operators In and NotIn."""
    selector = affinity["fieldSelector"]
    for expression in selector["matchExpressions"].items():
        key, operator = expression["key"].text, expression["operator"].text
        if key not in _FIELDS:
            yield selector.invalid(f"unsupported key {key!r}, must be one of {', '.join(_FIELDS)}")
        elif operator not in ("In", "NotIn"):
            yield selector.invalid(f"unsupported operator {operator!r} for {key}, must be In or NotIn")


def selector_namespace_problems(selectors: Node, namespace: str) -> Problems:
    """A namespaced policy is about its own namespace only."""
    for selector in selectors.items():
        if selector["namespace"].text != namespace:
            yield selector["namespace"].invalid(
                f"must be {namespace!r}, the namespace of the policy; use the cluster-scoped kind of policy for others"
            )
