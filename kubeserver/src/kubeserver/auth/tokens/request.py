"""TokenRequest: `POST /api/v1/namespaces/NS/serviceaccounts/NAME/token`."""

from datetime import timedelta
from typing import Any

import msgspec

from kubeapi import codec
from kubeapi.loop import Clock, Randomness
from kubeapi.meta import Manifest, format_time
from kubeapi.status import Problem
from kubeserver import errors
from kubeserver.auth.tokens.accounts import AUDIENCES, ISSUER, ServiceAccountTokens, uid_of
from kubeserver.auth.tokens.jwt import Claims, Kubernetes, Reference
from kubeserver.store import Store
from kubeserver.values import section, texts

API_VERSION, KIND = "authentication.k8s.io/v1", "TokenRequest"
DEFAULT_SECONDS, SHORTEST_SECONDS, LONGEST_SECONDS = 3600, 600, 1 << 32
_BOUND = {"Pod": "pods", "Secret": "secrets"}


class _PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    service_account_name: str = ""


class _Pod(msgspec.Struct, frozen=True):
    spec: _PodSpec = _PodSpec()


class TokenRequests:
    """Answers TokenRequests."""

    def __init__(self, store: Store, clock: Clock, randomness: Randomness, tokens: ServiceAccountTokens) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._tokens = tokens

    def answer(self, namespace: str, name: str, manifest: Manifest, dry_run: bool) -> Manifest:
        """The request with its token, which a dry run leaves empty. Raises: Refused."""
        asked_for = section(manifest, "metadata").get("name")
        if asked_for and asked_for != name:
            problem = Problem.invalid("metadata.name", asked_for, "must match the service account name if specified")
            raise errors.invalid("authentication.k8s.io", KIND, name, [problem])
        record = self._store.get(f"//serviceaccounts/{namespace}/{name}")
        if record is None:
            raise errors.not_found("", "serviceaccounts", name)
        asked = section(manifest, "spec")
        seconds = _checked_seconds(asked.get("expirationSeconds"))
        audiences = tuple(texts(asked, "audiences")) or AUDIENCES
        now, bound = self._clock.now(), asked.get("boundObjectRef")
        account = Reference(name, uid_of(record))
        claims = Claims(
            audiences,
            int(now.timestamp()) + seconds,
            int(now.timestamp()),
            ISSUER,
            self._randomness.uid(),
            int(now.timestamp()),
            f"system:serviceaccount:{namespace}:{name}",
            Kubernetes(namespace, account) if bound is None else self._scope(namespace, account, bound),
        )
        metadata = {
            **section(manifest, "metadata"),
            "name": name,
            "namespace": namespace,
            "uid": self._randomness.uid(),
            "creationTimestamp": format_time(now),
        }
        spec: dict[str, Any] = {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound}
        ends = format_time(now + timedelta(seconds=seconds))
        status = {"token": "" if dry_run else self._tokens.issue(claims), "expirationTimestamp": ends}
        return {"kind": KIND, "apiVersion": API_VERSION, "metadata": metadata, "spec": spec, "status": status}

    def _scope(self, namespace: str, account: Reference, bound: Manifest) -> Kubernetes:
        kind, name = bound.get("kind", ""), bound.get("name", "")
        group, _, version = bound.get("apiVersion", "").rpartition("/")
        plural = _BOUND.get(kind)
        if plural is None or group:
            raise errors.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        record = self._store.get(f"//{plural}/{namespace}/{name}")
        if record is None:
            raise errors.not_found("", plural, name)
        reference = Reference(name, uid_of(record))
        if bound.get("uid") and bound["uid"] != reference.uid:
            said = (
                f"the UID in the bound object reference ({bound['uid']}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
            raise errors.conflict("", plural, name, said)
        if plural == "secrets":
            return Kubernetes(namespace, account, secret=reference)
        if codec.decode(record.value, _Pod).spec.service_account_name != account.name:
            said = "to pod running with different serviceaccount name."
            raise errors.bad_request(f'cannot bind token for serviceaccount "{account.name}" {said}')
        return Kubernetes(namespace, account, pod=reference)


def _checked_seconds(value: int | None) -> int:
    if value is None:
        return DEFAULT_SECONDS
    said = ""
    if value < SHORTEST_SECONDS:
        said = "may not specify a duration less than 10 minutes"
    elif value > LONGEST_SECONDS:
        said = "may not specify a duration larger than 2^32 seconds"
    if said:
        problem = Problem.invalid("spec.expirationSeconds", value, said)
        raise errors.invalid("authentication.k8s.io", KIND, "", [problem])
    return value
