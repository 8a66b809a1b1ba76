"""`leeward orphans`: what is shown of Works whose binding is gone, and what is deleted."""

from dataclasses import replace
from unittest import mock

import click
import pytest
from click.testing import CliRunner

from controller_runtime.identity import Key
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.cli import orphans
from leeward.cli.settings import Settings
from leeward.core.execution.claims import Owner
from leeward.operations.orphan_works import OrphanWork
from leeward.operations.orphans import Findings, Orphan

WORK = OrphanWork("m1", Key("karmada-es-m1", "web-5f"), "uid-1", "7", (Owner("default", "web-deployment"),), ())


def test_works_are_shown_with_the_binding_that_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    orphans._show(Findings((), (), {}, (WORK,)))  # pyright: ignore[reportPrivateUsage]
    told = capsys.readouterr().out
    assert "no orphans" not in told
    (row,) = (line for line in told.splitlines() if line.startswith("m1"))
    assert row.split() == ["m1", "karmada-es-m1/web-5f", "ResourceBinding", "default/web-deployment", "uid-1"]


def test_nothing_is_said_to_be_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    orphans._show(Findings((), (), {}))  # pyright: ignore[reportPrivateUsage]
    assert capsys.readouterr().out == "no orphans\n"


def test_what_was_left_on_purpose_is_shown_apart_and_is_no_orphan(capsys: pytest.CaptureFixture[str]) -> None:
    orphans._show(Findings((), (), {}, preserved=(orphan("ConfigMap"),)))  # pyright: ignore[reportPrivateUsage]
    first, *apart = capsys.readouterr().out.splitlines()
    assert first == "no orphans"
    (row,) = (line for line in apart if line.startswith("m1"))
    assert row.split() == ["m1", "ConfigMap", "-", "configmap", "uid-ConfigMap"]
    assert any("on purpose" in line for line in apart)


def orphan(kind: str, api_version: str = "v1") -> Orphan:
    resource: Resource[Manifest] = Resource.of_manifests(api_version, f"{kind.lower()}s", kind, namespaced=False)
    return Orphan("m1", resource, Key("", kind.lower()), f"uid-{kind}", "7", Key("karmada-es-m1", "a"))


SHARED = (
    orphan("Namespace"),
    orphan("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
    orphan("PersistentVolume"),
    orphan("PersistentVolumeClaim"),
    replace(WORK, is_shared=True),
)
ALONE = (orphan("ConfigMap"), orphan("Deployment", "apps/v1"), orphan("Namespace", "example.com/v1"), WORK)


@pytest.mark.parametrize(
    ("options", "expected", "code"),
    [
        ((), (), 1),
        (("--delete",), ALONE, 1),
        (("--delete", "--shared"), (*SHARED, *ALONE), 0),
    ],
)
def test_what_others_may_live_in_is_deleted_only_where_that_is_asked_for(
    options: tuple[str, ...], expected: tuple[Orphan | OrphanWork, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = (*SHARED, *ALONE)
    found = Findings(
        tuple(each for each in every if isinstance(each, Orphan)),
        (),
        {},
        tuple(each for each in every if isinstance(each, OrphanWork)),
    )
    deleted: list[Orphan | OrphanWork] = []

    def delete(_: object, chosen: list[Orphan | OrphanWork]) -> int:
        deleted.extend(chosen)
        return len(chosen)

    monkeypatch.setattr(orphans, "target_of", mock.Mock())
    monkeypatch.setattr(orphans, "_with_members", mock.Mock(return_value=found))
    monkeypatch.setattr(orphans, "_delete", delete)
    done = CliRunner().invoke(orphans.orphans, [*options, "--yes"], obj=Settings("nowhere"))
    assert (set(deleted), done.exit_code) == (set(expected), code)
    assert ("5 of these stay" in done.output) == (options == ("--delete",))


def test_a_switch_of_deleting_alone_is_refused() -> None:
    done = CliRunner().invoke(orphans.orphans, ["--shared"], obj=Settings("nowhere"))
    assert done.exit_code == click.UsageError.exit_code
    assert "--delete" in done.output


def test_nothing_is_deleted_unasked_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "target_of", mock.Mock())
    monkeypatch.setattr(orphans, "_with_members", mock.Mock(return_value=Findings((orphan("ConfigMap"),), (), {})))
    monkeypatch.setattr(orphans, "_delete", delete := mock.Mock())
    done = CliRunner().invoke(orphans.orphans, ["--delete"], obj=Settings("nowhere"))
    assert (done.exit_code, delete.called) == (2, False)
    assert "add --yes" in done.output
