"""Decision that flags configure: whole, placing alone, or the halves beside another scheduler."""

from dataclasses import replace

from leeward.manager.choice import Choice
from leeward.manager.gates import FeatureGates
from leeward.manager.settings import EvictionSettings, ManagerSettings


def test_by_default_the_scheduler_takes_the_whole_decision_with_all_safety_on() -> None:
    settings = ManagerSettings().whole_decision()
    assert settings.place
    assert (settings.evict, settings.watch, settings.finish, settings.withdraw) == (True, True, True, True)
    assert settings.keep_without_place
    assert not settings.exact_health


def test_without_the_taint_manager_the_scheduler_only_places() -> None:
    settings = ManagerSettings(eviction=EvictionSettings(taint_manager=False)).whole_decision()
    assert settings.place
    assert (settings.evict, settings.watch, settings.finish, settings.withdraw) == (False, False, False, False)
    assert not settings.tells_held


def test_the_halves_evict_and_finish_as_they_are_named_and_never_place() -> None:
    taint_manager = ManagerSettings(controllers=Choice(("taint-manager",))).halves()
    assert (taint_manager.evict, taint_manager.finish, taint_manager.place) == (True, False, False)
    finishing = ManagerSettings(controllers=Choice(("gracefulEviction",))).halves()
    assert (finishing.evict, finishing.finish, finishing.tells_held) == (False, True, False)


def test_without_gate_failover_nothing_is_evicted_but_open_tasks_end() -> None:
    settings = ManagerSettings(gates=FeatureGates({"Failover": False})).whole_decision()
    assert (settings.evict, settings.watch, settings.finish) == (False, False, True)


def test_no_execute_taints_can_be_ignored_while_failed_applications_still_move() -> None:
    settings = ManagerSettings(eviction=EvictionSettings(no_execute=False)).whole_decision()
    assert (settings.evict, settings.watch) == (False, True)


def test_karmada_exact_sets_every_safety_switch() -> None:
    exact = ManagerSettings().karmada_exact()
    assert exact.brake == replace(ManagerSettings().brake, enabled=False)
    assert not exact.safety.could_not_look
    placement = exact.whole_decision()
    assert (placement.keep_without_place, placement.withdraw, placement.exact_health) == (False, False, True)
