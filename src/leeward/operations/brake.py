"""The brake on evictions, which is engaged when most of the fleet looks dead: reading it, and releasing it."""

from typing import NamedTuple

from kubeapi.codec import DecodeError, decode
from kubeapi.core import CONFIG_MAPS
from kubeclient import Client, Conflict, NotFound
from leeward.api.meta import Condition
from leeward.api.names import BRAKE_NAME, SYSTEM_NAMESPACE
from leeward.core.cluster_health.brake import Brake, parse_brake
from leeward.operations.errors import OperationFailed


class BrakeReading(NamedTuple):
    """The state, its condition's words, and the version that was read; no version where there is no brake (yet)."""

    brake: Brake
    message: str = ""
    resource_version: str = ""
    reason: str = ""


async def read_brake(client: Client) -> BrakeReading:
    """A control plane without the ConfigMap, such as Karmada's own, has none that is engaged. Raises: WorldError."""
    try:
        config_map = await client.get(CONFIG_MAPS, BRAKE_NAME, SYSTEM_NAMESPACE)
    except NotFound:
        return BrakeReading(Brake())
    try:
        condition = decode(config_map.data["condition"].encode(), Condition)
    except (KeyError, DecodeError):
        condition = Condition(type="Engaged", status="Unknown", reason="")
    version = config_map.metadata.resource_version
    return BrakeReading(parse_brake(config_map.data), condition.message, version, condition.reason)


async def release_brake(client: Client) -> BrakeReading:
    """Overrules it if it is engaged, until the fleet looks well again. Returns its state before.

    Raises: OperationFailed when it changes at this moment, WorldError.
    """
    before = await read_brake(client)
    if before.brake.engaged and not before.brake.overruled:
        overruled = {"data": {"overruled": "true"}}
        try:
            await client.patch(
                CONFIG_MAPS, BRAKE_NAME, overruled, SYSTEM_NAMESPACE, resource_version=before.resource_version
            )
        except Conflict:
            raise OperationFailed(
                "the brake has changed at this moment: look again with `leeward brake status`"
            ) from None
    return before
