"""Bindings by the objects that they need."""

from controller_runtime.identity import Key
from leeward.runtime.dependants import DependantIndex
from leeward.runtime.templates import TemplateKey

WEB, API = Key("default", "web"), Key("default", "api")
SLICES = ("discovery.k8s.io/v1", "EndpointSlice", "default")


def config(name: str) -> TemplateKey:
    return TemplateKey("v1", "ConfigMap", Key("default", name))


def test_dependants_are_found_by_what_they_need_now() -> None:
    index = DependantIndex()
    index.put(WEB, {config("a"), config("b")})
    index.put(API, {config("b")})
    assert index.dependants_of(config("a")) == {WEB}
    assert index.dependants_of(config("b")) == {WEB, API}
    index.put(WEB, {config("b")})
    assert index.dependants_of(config("a")) == frozenset()
    index.forget(WEB)
    assert index.dependants_of(config("b")) == {API}


def test_to_need_nothing_is_known_and_to_be_forgotten_is_not() -> None:
    index = DependantIndex()
    assert not index.knows(WEB)
    index.put(WEB, ())
    assert index.knows(WEB)
    index.forget(WEB)
    assert not index.knows(WEB)
    assert index.objects_of(WEB) == frozenset()


def test_who_selects_by_labels_is_found_by_kind_and_namespace() -> None:
    index = DependantIndex()
    index.put(WEB, (), {SLICES})
    assert index.selecting(TemplateKey(*SLICES[:2], Key("default", "any"))) == {WEB}
    assert index.selecting(TemplateKey(*SLICES[:2], Key("other", "any"))) == frozenset()
    assert index.selecting(config("any")) == frozenset()
