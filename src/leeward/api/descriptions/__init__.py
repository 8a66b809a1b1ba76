"""Descriptions of fields, as `kubectl explain` and the schemas show them: by struct and name on the wire.

They stand apart from the structs, which are read far more often than they are explained to users.
"""

from collections.abc import Mapping
from typing import Any, Final

from leeward.api.descriptions.binding_fields import BINDING_FIELDS
from leeward.api.descriptions.cluster_fields import CLUSTER_FIELDS
from leeward.api.descriptions.outage_fields import OUTAGE_FIELDS
from leeward.api.descriptions.override_fields import OVERRIDE_FIELDS
from leeward.api.descriptions.policy_fields import POLICY_FIELDS
from leeward.api.descriptions.shared_fields import OBJECT_FIELDS, SHARED_FIELDS

DESCRIPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    **SHARED_FIELDS,
    **CLUSTER_FIELDS,
    **POLICY_FIELDS,
    **OVERRIDE_FIELDS,
    **BINDING_FIELDS,
    **OUTAGE_FIELDS,
}
"""Descriptions by the name of the struct, then of the field."""


def description_of(struct: type[Any], field: str) -> str:
    """The description of a field, which the struct may have from its base; empty where there is none."""
    for each in struct.__mro__:
        if text := DESCRIPTIONS.get(each.__name__, {}).get(field):
            return text
    return OBJECT_FIELDS.get(field, "")
