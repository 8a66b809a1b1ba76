"""Revisions: what makes another one, and whose contents are believed."""

import base64
import zlib
from typing import Any

import msgspec
import pytest

from kubeapi.codec import decode_any, encode
from kubeapi.meta import Manifest, ObjectMeta
from leeward.api.override import OverridePolicy, OverrideSpec
from leeward.api.rollout import REVISION_ANNOTATION, ROLLOUT_REVISIONS_ANNOTATION
from leeward.api.work import BindingResource, ResourceBinding, ResourceBindingSpec, Work
from leeward.core.interpreter import revise_replicas
from leeward.core.overrides.override_rule import rules_of
from leeward.core.rollout.revision import Revision, believed, pack, revision_of
from tests.world.stories import deployment


def template(image: str = "nginx:1", replicas: int = 2, **metadata: Any) -> Manifest:
    found = deployment("web", replicas, image)
    found["metadata"] |= {"namespace": "default", **metadata}
    return found


def revision(manifest: Manifest, *policies: OverridePolicy) -> Revision:
    return revision_of(manifest, revise_replicas(manifest, 0), [rules_of(policy) for policy in policies])


def own(name: str) -> OverridePolicy:
    return OverridePolicy(metadata=ObjectMeta(name=name, namespace="default"), spec=OverrideSpec())


def bound(text: str) -> ResourceBinding:
    spec = ResourceBindingSpec(resource=BindingResource(api_version="apps/v1", kind="Deployment", name="web"))
    metadata = ObjectMeta(name="web-deployment", annotations={ROLLOUT_REVISIONS_ANNOTATION: text})
    return ResourceBinding(metadata=metadata, spec=spec)


def naming(*revisions: str) -> Work:
    return Work(metadata=ObjectMeta(annotations={REVISION_ANNOTATION: " ".join(revisions)}))


def test_replicas_and_marks_of_the_control_plane_make_no_other_revision() -> None:
    marks = {"clusterpropagationpolicy.karmada.io/name": "x", "leeward.dev/lint-ignore": "X1"}
    same = template(replicas=9, annotations=marks, generation=7, resourceVersion="8", uid="u")
    assert revision(same).id == revision(template()).id
    assert revision(template("nginx:2")).id != revision(template()).id
    assert revision(template(), own("tag")).id != revision(template()).id
    assert revision(template(annotations={"team": "a"})).id != revision(template()).id


def test_contents_are_read_back_as_they_were() -> None:
    found = revision(template(annotations={"team": "a"}), own("tag"))
    read = believed(bound(pack([found])), [naming(found.id)], template())[found.id]
    assert read.template == found.template
    assert read.rules()[1][0][0].policy.name == "tag"
    again = read.as_template(template(uid="u", labels={"app": "web", "x.karmada.io/y": "z"}), 5)
    assert again["metadata"]["generation"] == 5
    assert again["metadata"]["labels"] == {"app": "web", "x.karmada.io/y": "z"}


def test_s6_contents_that_no_work_names_are_not_believed() -> None:
    """Anybody who may write bindings can put contents there; only the control plane writes Works."""
    proven, forged = revision(template()), revision(template("evil:1"))
    text = pack([proven, forged])
    assert believed(bound(text), [naming(proven.id)], template()).keys() == {proven.id}
    renamed = encode({proven.id: msgspec.json.decode(pack([forged]))[forged.id]}).decode()
    assert not believed(bound(renamed), [naming(proven.id)], template())


def test_l4_contents_are_unpacked_only_where_a_work_names_their_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that any writer of bindings can forge may be of megabytes once it is unpacked."""
    read: list[bytes] = []

    def counted(data: bytes) -> Any:
        read.append(data)
        return decode_any(data)

    monkeypatch.setattr("leeward.core.rollout.revision.decode_any", counted)
    proven, *others = [revision(template(f"nginx:{number}")) for number in range(20)]
    texts = msgspec.json.decode(pack([proven, *others]))
    spoiled = encode(texts | {others[0].id: texts[others[1].id]}).decode()
    assert believed(bound(spoiled), [naming(proven.id, others[0].id)], template()).keys() == {proven.id}
    assert len(read) == 1


def test_s6_contents_of_another_object_are_not_believed() -> None:
    other = template()
    other["metadata"]["name"] = "other"
    found = revision(other)
    assert not believed(bound(pack([found])), [naming(found.id)], template())


def test_what_nobody_can_read_is_no_revision() -> None:
    bomb = base64.b64encode(zlib.compress(b'{"template": "' + b"a" * 5_000_000 + b'"}')).decode()
    for text in ("", "[", "{}", '{"a": 1}', '{"a": "x"}', encode({"a": bomb}).decode()):
        assert not believed(bound(text), [naming("a")], template())


def test_contents_without_room_are_left_out() -> None:
    large = template(annotations={f"k{n}": str(hash(str(n)) ** 9) for n in range(3_000)})
    assert pack([revision(large), revision(template())]).count(":") == 1
