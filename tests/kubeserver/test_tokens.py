"""Service account tokens, bootstrap tokens and certificates: whose they are, and when they end."""

import asyncio
import base64
import stat
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeserver.auth.tokens import SigningKey, load_signing_key
from kubeserver.auth.tokens.jwt import Claims, Kubernetes, Reference, parse_token, render_token
from kubeserver.handler import User
from tests.certificates import client_authority
from tests.kubeserver.api_world import ApiWorld, pod, tell, who

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
TOKEN = f"{ACCOUNTS}/robot/token"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
ROBOT = "system:serviceaccount:default:robot"
CLAIMS = Claims(("a",), 2, 1, "i", "j", 1, "s", Kubernetes("default", Reference("robot", "u")))


def account(name: str = "robot") -> Manifest:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}


def token_request(**spec: Any) -> Manifest:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


async def issue(world: ApiWorld, **spec: Any) -> str:
    answer = await world.create(TOKEN, token_request(**spec))
    assert answer.code == 201, answer.body
    return answer.body["status"]["token"]


def test_a_token_is_its_service_account_until_its_time_is_over() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(ACCOUNTS, account())
        token = await issue(world, expirationSeconds=600)
        assert who(world, token) == ROBOT
        await asyncio.sleep(599)
        assert who(world, token) == ROBOT
        await asyncio.sleep(2)
        assert who(world, token) == ""

    tell(story)


def test_a_token_ends_with_its_account_even_if_that_comes_back() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(ACCOUNTS, account())
        token = await issue(world)
        await world.delete(f"{ACCOUNTS}/robot")
        assert who(world, token) == ""
        await world.create(ACCOUNTS, account())
        assert who(world, token) == ""

    tell(story)


@pytest.mark.parametrize("plural", ["serviceaccounts", "secrets"])
def test_a_token_ends_a_minute_after_the_deletion_that_a_finalizer_holds_up(plural: str) -> None:
    async def story(world: ApiWorld) -> None:
        held = {"finalizers": ["example.com/held"]} if plural == "serviceaccounts" else {}
        await world.create(ACCOUNTS, {**account(), "metadata": {"name": "robot", **held}})
        secrets = ACCOUNTS.replace("serviceaccounts", "secrets")
        await world.create(secrets, {"metadata": {"name": "robot", "finalizers": ["example.com/held"]}})
        token = await issue(world, boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "robot"})
        await world.delete(f"/api/v1/namespaces/default/{plural}/robot")
        await asyncio.sleep(55)
        assert who(world, token) == ROBOT
        await asyncio.sleep(10)
        assert who(world, token) == ""

    tell(story)


def test_a_bound_token_ends_with_its_pod() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(ACCOUNTS, account())
        pods = "/api/v1/namespaces/default/pods"
        await world.create(pods, pod("p", serviceAccountName="robot"))
        await world.create(pods, pod("other"))
        bound = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
        token = await issue(world, boundObjectRef=bound)
        assert who(world, token) == ROBOT
        refused = await world.create(TOKEN, token_request(boundObjectRef={**bound, "name": "other"}))
        assert (refused.code, "different serviceaccount name" in refused.body["message"]) == (400, True)
        assert (await world.create(TOKEN, token_request(boundObjectRef={**bound, "name": "none"}))).code == 404
        assert (await world.create(TOKEN, token_request(boundObjectRef={**bound, "uid": "x"}))).code == 409
        await world.delete(f"{pods}/p", gracePeriodSeconds="0")
        assert who(world, token) == ""

    tell(story)


def test_a_token_for_another_audience_is_not_for_us() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(ACCOUNTS, account())
        token = await issue(world, audiences=["vault"])
        assert who(world, token) == ""

        async def review(**spec: Any) -> dict[str, Any]:
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
            return (await world.create(REVIEWS, body)).body["status"]

        assert await review(token=token) == {"user": {}, "error": "invalid bearer token"}
        reviewed = await review(token=token, audiences=["vault", "x"])
        assert (reviewed["authenticated"], reviewed["audiences"]) == (True, ["vault"])
        assert reviewed["user"]["username"] == ROBOT
        assert reviewed["user"]["extra"]["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")
        await world.create("/api/v1/namespaces/kube-system/secrets", bootstrap_secret())
        assert (await review(token="abcdef.0123456789abcdef"))["audiences"] == ["https://kubernetes.default.svc"]
        assert await review(token="abcdef.0123456789abcdef", audiences=["vault"]) == {
            "user": {},
            "error": "invalid bearer token",
        }

    tell(story)


def test_requests_that_make_no_sense_are_refused_by_field() -> None:
    async def story(world: ApiWorld) -> None:
        assert (await world.create(TOKEN, token_request())).code == 404
        await world.create(ACCOUNTS, account())
        short = await world.create(TOKEN, token_request(expirationSeconds=60))
        assert (short.code, short.body["details"]["causes"][0]["field"]) == (422, "spec.expirationSeconds")
        assert (await world.get(TOKEN)).code == 405

    tell(story)


def test_a_changed_or_foreign_token_is_nobodys() -> None:
    key, other = SigningKey.draw(Randomness(1)), SigningKey.draw(Randomness(2))
    token = render_token(CLAIMS, key)
    assert parse_token(token, key) == CLAIMS
    assert parse_token(token, other) is None
    head, body, signature = token.split(".")
    forged = base64.urlsafe_b64encode(base64.urlsafe_b64decode(body + "==").replace(b"robot", b"admin")).decode()
    assert base64.urlsafe_b64decode(head + "==") == f'{{"alg":"ES256","kid":"{key.key_id}"}}'.encode()
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    deep = base64.urlsafe_b64encode(b"[" * 11_000).decode().rstrip("=")
    for broken in (
        f"{head}.{forged.rstrip('=')}.{signature}",
        f"{none}.{body}.",
        f"{none}.{body}.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}.{signature[:-4]}",
        "ey..",
        "ey.ü.x",
        f"{deep}.{body}.{signature}",
        f"{token}{'A' * 20_000}",
    ):
        assert parse_token(broken, key) is None


def test_the_key_is_kept_for_its_owner_only_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "service-account.key"
    key = load_signing_key(path, Randomness(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_signing_key(path, Randomness(2)).key_id == key.key_id
    path.write_text("nonsense")
    with pytest.raises(ValueError, match=r"service-account\.key is no private key .*: restore it, or delete it"):
        load_signing_key(path, Randomness(3))


def bootstrap_secret(**changes: str) -> Manifest:
    data = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:karmada:default",
        "expiration": "2026-01-01T01:00:00Z",
    }
    texts = {key: value for key, value in {**data, **changes}.items() if value}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()},
    }


@pytest.mark.parametrize(
    ("changes", "good"),
    [
        ({}, True),
        ({"expiration": ""}, True),
        ({"expiration": "2025-12-31T23:59:59Z"}, False),
        ({"expiration": "tomorrow"}, False),
        ({"usage-bootstrap-authentication": ""}, False),
        ({"token-secret": "0123456789abcdeX"}, False),
        ({"token-id": "fedcba"}, False),
        ({"auth-extra-groups": "system:masters"}, False),
    ],
)
def test_a_bootstrap_token_is_as_good_as_its_secret_says(changes: dict[str, str], good: bool) -> None:
    async def story(world: ApiWorld) -> None:
        await world.create("/api/v1/namespaces/kube-system/secrets", bootstrap_secret(**changes))
        assert who(world, "abcdef.0123456789abcdef") == ("system:bootstrap:abcdef" if good else "")

    tell(story)


SIGNER = "kubernetes.io/kube-apiserver-client"
KEY = ec.derive_private_key(4711, ec.SECP256R1())


def signing_request(name: str, user: str, *groups: str, before: str = "") -> Manifest:
    """`before` is a common name that stands before the user's."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    users = [x509.NameAttribute(NameOID.COMMON_NAME, each) for each in (before, user) if each]
    subject = x509.Name([*attributes, *users])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(KEY, hashes.SHA256())
    encoded = base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()
    spec = {"request": encoded, "signerName": SIGNER, "usages": ["client auth"], "username": "somebody-else"}
    api_version, kind = "certificates.k8s.io/v1", "CertificateSigningRequest"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


NEWCOMER = User("system:bootstrap:abcdef", ("system:bootstrappers", "system:authenticated"))


def test_what_somebody_approved_is_signed() -> None:
    async def story(world: ApiWorld) -> None:
        async with Supervisor("signer") as supervisor:
            supervisor.start(world.server.certificate_signer(*client_authority()).run(), "signer")
            created = await world.call("POST", REQUESTS, signing_request("ops", "bob", "ops"), user=NEWCOMER)
            approval = {"type": "Approved", "status": "True", "reason": "Known", "message": "he is one of us"}
            body = {**created.body, "status": {"conditions": [approval]}}
            path = f"{REQUESTS}/ops"
            assert (await world.call("PUT", f"{path}/approval", body, user=NEWCOMER)).code == 403
            assert (await world.update(f"{path}/approval", body)).code == 200
            await asyncio.sleep(1)
            assert (await world.get(path)).body["status"]["certificate"]

    tell(story)


@pytest.mark.parametrize("subresource", ["approval", "status"])
@pytest.mark.parametrize("signers", [[], ["other/*"], [SIGNER], ["kubernetes.io/*"]])
def test_only_who_may_approve_for_a_signer_does(subresource: str, signers: list[str]) -> None:
    async def story(world: ApiWorld) -> None:
        created = await world.create(REQUESTS, signing_request("ops", "bob", "ops"))
        part = f"certificatesigningrequests/{subresource}"
        group = ["certificates.k8s.io"]
        rules = [{"apiGroups": group, "resources": [part], "verbs": ["update"]}]
        if signers:
            rules.append({"apiGroups": group, "resources": ["signers"], "resourceNames": signers, "verbs": ["approve"]})
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        await world.create(f"{rbac}/clusterroles", {"metadata": {"name": "approver"}, "rules": rules})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "approver"}
        subjects = [{"kind": "User", "name": "carol"}]
        binding = {"metadata": {"name": "approver"}, "roleRef": reference, "subjects": subjects}
        await world.create(f"{rbac}/clusterrolebindings", binding)
        approval = {"type": "Approved", "status": "True", "reason": "Known", "message": "he is one of us"}
        body = {**created.body, "status": {"conditions": [approval]}}
        answer = await world.call("PUT", f"{REQUESTS}/ops/{subresource}", body, user=User("carol"))
        if signers in ([SIGNER], ["kubernetes.io/*"]):
            assert answer.code == 200
        else:
            assert answer.code == 403
            assert f'user not permitted to approve requests with signerName "{SIGNER}"' in answer.body["message"]

    tell(story)


def test_a_dry_run_of_a_token_request_is_checked_and_gives_no_token() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(ACCOUNTS, account())
        asked = await world.create(TOKEN, token_request(), dryRun="All")
        assert (asked.code, asked.body["status"]["token"]) == (201, "")
        assert (await world.create(TOKEN, token_request(expirationSeconds=60), dryRun="All")).code == 422

    tell(story)


def test_a_token_appears_in_no_stored_object() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(ACCOUNTS, account())
        token = (await issue(world)).encode()
        assert not any(token in record.value for record in world.store.list("/").records)

    tell(story)
