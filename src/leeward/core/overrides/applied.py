"""Record of the overrides that were carried out, on their Work: `policy.karmada.io/applied-overrides`.

Karmada: pkg/util/overridemanager; the same text, so that a control plane which takes over has nothing to write.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any, cast

from kubeapi import codec
from kubeapi.codec import to_wire
from kubeapi.meta import Manifest
from kubeapi.unstructured import text_at
from leeward.api.override import Overriders


def render_applied(policy_name: str, overriders: Overriders) -> str:
    """One item of the annotation."""
    text = codec.encode({"policyName": policy_name, "overriders": _told(overriders)}).decode()
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def joined(items: Iterable[str]) -> str:
    """The annotation of these items."""
    return f"[{','.join(items)}]"


def policies_in(text: str) -> frozenset[str]:
    """The names of the policies in an annotation; none where somebody has written something else."""
    try:
        items = codec.decode_any(text.encode())
    except codec.DecodeError:
        return frozenset()
    return frozenset(text_at(item, "policyName") for item in cast(list[Any], items if isinstance(items, list) else ()))


def _told(overriders: Overriders) -> Manifest:
    """Wire form with a null for the value of an operation that has none, and keys in order, as Go prints them."""
    wire: Manifest = to_wire(overriders)
    fields = (
        operations for each in wire.get("fieldOverrider", ()) for operations in (each.get("json"), each.get("yaml"))
    )
    for item in chain(wire.get("plaintext", ()), *filter(None, fields)):
        item.setdefault("value", None)
    for field in ("labelsOverrider", "annotationsOverrider"):
        for item in wire.get(field, ()):
            item["value"] = dict(sorted(item["value"].items()))
    return wire
