"""Verification of service account tokens by others: with the key that the issuer publishes."""

import base64
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from kubeapi.meta import Manifest
from kubeserver.handler import User
from tests.kubeserver.api_world import ApiWorld, tell

CONFIGURATION = "/.well-known/openid-configuration"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
ROBOT = User("system:serviceaccount:default:robot", ("system:serviceaccounts", "system:authenticated"))


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def number(text: str) -> int:
    return int.from_bytes(decoded(text), "big")


def verify(token: str, key: dict[str, Any]) -> None:
    """Raises: InvalidSignature."""
    signed, _, signature = token.rpartition(".")
    r, s = (int.from_bytes(part, "big") for part in (decoded(signature)[:32], decoded(signature)[32:]))
    public = ec.EllipticCurvePublicNumbers(number(key["x"]), number(key["y"]), ec.SECP256R1()).public_key()
    public.verify(encode_dss_signature(r, s), signed.encode(), ec.ECDSA(hashes.SHA256()))


def test_the_published_key_verifies_the_tokens_that_are_issued():
    async def story(world: ApiWorld) -> None:
        await world.create(ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
        request: Manifest = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = (await world.create(f"{ACCOUNTS}/robot/token", request)).body["status"]["token"]
        configuration = (await world.call("GET", CONFIGURATION, user=ROBOT)).body
        assert configuration["issuer"] == "https://kubernetes.default.svc"
        path = configuration["jwks_uri"].removeprefix(configuration["issuer"])
        (key,) = (await world.call("GET", path, user=ROBOT)).body["keys"]
        assert (key["alg"], key["kty"], key["use"]) == ("ES256", "EC", "sig")
        verify(token, key)

    tell(story)


def test_the_issuer_is_shown_to_accounts_alone_and_only_shown():
    async def story(world: ApiWorld) -> None:
        nobody = User("system:anonymous", ("system:unauthenticated",))
        assert (await world.call("GET", CONFIGURATION, user=nobody)).code == 403
        assert (await world.call("POST", CONFIGURATION, {})).code == 405
        assert CONFIGURATION in (await world.get("/")).body["paths"]

    tell(story)
