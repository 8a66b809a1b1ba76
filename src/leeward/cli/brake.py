"""`leeward brake`: the brake on evictions, which the control plane applies when most of the fleet looks dead."""

import click

from leeward.api.codec import DecodeError, decode
from leeward.api.meta import Condition, format_time
from leeward.api.names import BRAKE_NAME, SYSTEM_NAMESPACE
from leeward.api.resource import CONFIG_MAPS
from leeward.app.local.api import AdminClient
from leeward.app.local.tainting import control_plane
from leeward.cli.settings import Settings
from leeward.cli.verbs import VerbGroup
from leeward.core.failover.brake import Brake, parse_brake

PATH = CONFIG_MAPS.path(SYSTEM_NAMESPACE, BRAKE_NAME)


@click.group(cls=VerbGroup)
def brake() -> None:
    """Show or release the brake on evictions."""


@brake.command()
@click.pass_obj
def status(settings: Settings) -> None:
    """Say whether the brake is engaged, and why."""
    with control_plane(settings.layout) as api:
        state, message = _read(api)
    click.echo(f"{_describe(state)}{f': {message}' if message else ''}")


@brake.command()
@click.pass_obj
def release(settings: Settings) -> None:
    """Let evictions start although most of the fleet looks dead.

    It stays released until the fleet looks well again.
    """
    with control_plane(settings.layout) as api:
        state, _ = _read(api)
        if state.engaged and not state.overruled:
            api.merge(PATH, {"data": {"overruled": "true"}})
            click.echo("the brake is released, until the fleet looks well again")
        else:
            click.echo(_describe(state))


def _read(api: AdminClient) -> tuple[Brake, str]:
    """The state, and the message of its condition."""
    config_map = api.find(PATH)
    data: dict[str, str] = config_map.get("data", {}) if config_map is not None else {}
    try:
        message = decode(data["condition"].encode(), Condition).message
    except (KeyError, DecodeError):
        message = ""
    return parse_brake(data), message


def _describe(state: Brake) -> str:
    if state.overruled:
        return "the brake is released by hand"
    return f"the brake is engaged since {format_time(state.since)}" if state.since else "the brake is not engaged"
