"""Settings as they are told in an annotation, and what becomes of those that nobody can read."""

from leeward.core.settings_in_force import SettingsInForce, parse_settings, render_settings
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing


def test_what_is_told_is_read_again() -> None:
    told = ManagerSettings(timing=Timing.fast()).in_force()
    assert parse_settings(render_settings(told)) == told
    assert (told.told, told.cluster_failure_threshold, told.placement.graceful_seconds) == (True, 2, 60)


def test_what_nobody_can_read_is_not_told() -> None:
    for text in ("", "{", '{"told": true, "placement": 3}'):
        assert parse_settings(text) == SettingsInForce()


def test_the_defaults_are_those_of_a_control_plane_without_flags() -> None:
    assert ManagerSettings().in_force() == SettingsInForce(told=True)
