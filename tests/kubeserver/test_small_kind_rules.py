"""Refusals of kinds that clusters keep for themselves: revisions, templates, attachments, requests for certificates."""

import base64
import copy
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kubeapi.meta import Manifest
from kubeserver.builtin_kinds import BUILT_IN

PODS = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
PART = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
REQUEST = "CertificateSigningRequest"
REVISION = {"data": {"a": 1}, "revision": 1}


def attachment(**changed: Any) -> Manifest:
    return {"spec": {"attacher": "d.example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}, **changed}}


def request(**changed: Any) -> Manifest:
    key = ec.generate_private_key(ec.SECP256R1())
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    pem = base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()
    return {"spec": {"request": pem, "usages": ["client auth"], "signerName": "example.com/s", **changed}}


def told(name: str, manifest: Manifest, old: Manifest | None = None) -> list[str]:
    kind = next(kind for kind in BUILT_IN if kind.kind == name)
    made = {"kind": name, "metadata": {"name": "a"}, **copy.deepcopy(manifest)}
    kind.default(made)
    return [str(problem) for problem in kind.validate(made, old)]


REFUSED: list[tuple[str, Manifest, list[str]]] = [
    ("ControllerRevision", {"revision": 1}, ["data: Required value: data is mandatory"]),
    (
        "ControllerRevision",
        {**REVISION, "revision": -1},
        ["revision: Invalid value: -1: must be greater than or equal"],
    ),
    ("PodTemplate", {}, ["template.spec.containers: Required value"]),
    ("ReplicationController", {"spec": {}}, ["spec.selector: Required value", "spec.template: Required value"]),
    ("DaemonSet", {"spec": {"template": PODS}}, ["spec.template.metadata.labels: Invalid value"]),
    ("VolumeAttachment", attachment(source={}), [f"spec.source: Required value: {ONE_SOURCE}"]),
    (
        "VolumeAttachment",
        attachment(source={"persistentVolumeName": "v", "inlineVolumeSpec": {}}),
        [f"spec.source: Forbidden: {ONE_SOURCE}"],
    ),
    (
        "VolumeAttachment",
        attachment(source={"inlineVolumeSpec": {}}),
        ["spec.source.inlineVolumeSpec.csi: Required value: has to be specified"],
    ),
    (
        "VolumeAttachment",
        attachment(attacher="a_b", nodeName="N"),
        ['spec.nodeName: Invalid value: "N"', 'spec.attacher: Invalid value: "a_b"'],
    ),
    ("VolumeAttachment", attachment(attacher="a" * 64), ["spec.attacher: Too long: may not be more than 63 bytes"]),
    (REQUEST, request(request="AAAA"), ['spec.request: Invalid value: "AAAA": PEM block type must be']),
    (REQUEST, request(usages=[]), ["spec.usages: Required value: usages must be provided"]),
    (REQUEST, request(usages=["x"]), ['spec.usages[0]: Unsupported value: "x": supported values: "any"']),
    (REQUEST, request(usages=["any", "any"]), ['spec.usages[1]: Duplicate value: "any"']),
    (REQUEST, request(signerName=""), ["spec.signerName: Required value"]),
    (REQUEST, request(signerName="a/b/c"), [f'spec.signerName: Invalid value: "a/b/c": {PART}']),
    (REQUEST, request(signerName="a/b"), ['spec.signerName: Invalid value: "a": should be a domain']),
    (
        REQUEST,
        request(signerName="example.com/"),
        ['spec.signerName: Invalid value: "": validating label "": a lowercase RFC 1123 subdomain'],
    ),
    (
        REQUEST,
        request(signerName="kubernetes.io/legacy-unknown"),
        ['spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed'],
    ),
    (
        REQUEST,
        request(expirationSeconds=1),
        ["spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 600 seconds"],
    ),
]


@pytest.mark.parametrize(("kind", "manifest", "said"), REFUSED, ids=[f"{kind}-{said[0]}" for kind, _, said in REFUSED])
def test_what_cannot_be_is_refused_by_its_field(kind: str, manifest: Manifest, said: list[str]) -> None:
    found = told(kind, manifest)
    assert len(found) == len(said), found
    for text, beginning in zip(found, said, strict=True):
        assert text.startswith(beginning), found


ACCEPTED = [
    ("ControllerRevision", REVISION),
    ("PodTemplate", {"template": PODS}),
    ("ReplicationController", {"spec": {"template": PODS}}),
    ("VolumeAttachment", attachment()),
    (REQUEST, request()),
]


@pytest.mark.parametrize(("kind", "manifest"), ACCEPTED, ids=[kind for kind, _ in ACCEPTED])
def test_what_people_write_is_accepted(kind: str, manifest: Manifest) -> None:
    assert told(kind, manifest) == []


def test_revisions_and_attachments_stay_what_they_are_and_old_requests_are_let_be() -> None:
    changed = told("ControllerRevision", {"data": {"a": 2}, "revision": 1}, REVISION)
    assert changed == ['data: Invalid value: {"a":2}: field is immutable']
    [said] = told("VolumeAttachment", attachment(nodeName="m"), attachment())
    assert said.startswith("spec: Invalid value: ")
    assert told(REQUEST, request(usages=[]), request(usages=[])) == []
