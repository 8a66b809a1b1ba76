"""Secrets that a write of a Cluster shows to a place of the writer's choosing."""

from typing import Any

import pytest

from kubeapi.codec import copy_manifest
from kubeapi.meta import Manifest
from leeward.api.names import AGENT_GROUP, ALLOW_HTTP_ANNOTATION
from leeward.core.member_credentials import ExposedSecret, exposed_secrets, exposure_refusal

SECRET = {"namespace": "karmada-cluster", "name": "m1"}
SPEAKER = {"namespace": "karmada-cluster", "name": "m1-impersonator"}
CLUSTER: Manifest = {
    "metadata": {"name": "m1", "annotations": {"a": "b"}},
    "spec": {
        "syncMode": "Push",
        "apiEndpoint": "https://m1.example",
        "proxyURL": "",
        "secretRef": SECRET,
        "impersonatorSecretRef": SPEAKER,
    },
}
TOKEN = ExposedSecret("secretRef", "karmada-cluster", "m1")
SPEAKERS = ExposedSecret("impersonatorSecretRef", "karmada-cluster", "m1-impersonator")


def changed(annotations: dict[str, str] | None = None, **spec: Any) -> Manifest:
    cluster = copy_manifest(CLUSTER)
    cluster["spec"] |= spec
    if annotations is not None:
        cluster["metadata"]["annotations"] = annotations
    return cluster


@pytest.mark.parametrize(
    ("cluster", "exposed"),
    [
        (changed(), ()),
        (changed({"a": "c"}, taints=[{"key": "a"}]), ()),
        (changed(apiEndpoint="https://evil.example"), (TOKEN, SPEAKERS)),
        (changed(proxyURL="http://evil.example"), (TOKEN, SPEAKERS)),
        (changed(insecureSkipTLSVerification=True), (TOKEN, SPEAKERS)),
        (changed(syncMode="Pull"), (TOKEN, SPEAKERS)),
        (changed({ALLOW_HTTP_ANNOTATION: "true"}), (TOKEN, SPEAKERS)),
        (changed({ALLOW_HTTP_ANNOTATION: "false"}), ()),
        (
            changed(secretRef={"namespace": "kube-system", "name": "root"}),
            (ExposedSecret("secretRef", "kube-system", "root"),),
        ),
        (changed(impersonatorSecretRef={**SPEAKER, "name": "x"}), (SPEAKERS._replace(name="x"),)),
        (changed(secretRef=None, apiEndpoint="https://evil.example"), (SPEAKERS,)),
        (changed(secretRef={"name": "x"}), (ExposedSecret("secretRef", "", "x"),)),
        (changed(secretRef={"namespace": "", "name": "x"}), (ExposedSecret("secretRef", "", "x"),)),
        (changed(secretRef={"namespace": "x"}), (ExposedSecret("secretRef", "x", ""),)),
    ],
)
def test_who_chooses_the_place_or_the_secret_must_be_one_who_may_read_it(
    cluster: Manifest, exposed: tuple[ExposedSecret, ...]
) -> None:
    assert exposed_secrets(cluster, CLUSTER) == exposed
    assert exposed_secrets(cluster, CLUSTER, ["operators"]) == exposed


def test_a_new_cluster_shows_all_that_it_refers_to() -> None:
    assert exposed_secrets(CLUSTER, None) == (TOKEN, SPEAKERS)
    assert exposed_secrets({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}}, None) == ()
    assert exposed_secrets({}, None) == ()


def test_what_goes_in_the_clear_already_is_no_news() -> None:
    clear = changed({ALLOW_HTTP_ANNOTATION: "true"})
    assert exposed_secrets(clear, clear) == ()
    assert exposed_secrets(clear, None) == (TOKEN, SPEAKERS)


def test_an_agent_shows_what_lies_in_its_own_execution_space() -> None:
    own = {"namespace": "karmada-es-m1", "name": "token"}
    moved = changed(apiEndpoint="https://new.example", secretRef=own)
    assert exposed_secrets(moved, CLUSTER, [AGENT_GROUP]) == (SPEAKERS,)
    assert exposed_secrets(moved, CLUSTER, ["operators"]) == (
        ExposedSecret("secretRef", "karmada-es-m1", "token"),
        SPEAKERS,
    )
    other = changed(secretRef={"namespace": "karmada-es-m2", "name": "token"})
    assert exposed_secrets(other, CLUSTER, [AGENT_GROUP]) == (ExposedSecret("secretRef", "karmada-es-m2", "token"),)
    nameless: Manifest = {**moved, "metadata": {}}
    assert len(exposed_secrets(nameless, None, [AGENT_GROUP])) == 2


def test_who_is_refused_is_told_what_and_the_way_out() -> None:
    assert exposure_refusal("jane", TOKEN) == (
        'spec.secretRef: user "jane" may not read the Secret karmada-cluster/m1, and would choose where its token is '
        "sent to: let somebody write it who may, or give the right to get that Secret"
    )
