"""The rules of CertificateSigningRequests: what is asked for can be read, says what for, and whom it asks.

Kubernetes: pkg/apis/certificates/validation; the same findings in the same order.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.certificate_requests import subject_of_request
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.metadata import too_long
from kubeserver.kinds.pod_rules.texts import duplicate, one_of
from kubeserver.names import dns_label, dns_subdomain
from kubeserver.values import section, texts

SHORTEST_SECONDS = 600
_LEGACY = "kubernetes.io/legacy-unknown"
_MAX_SIGNER_BYTES = 571
_USAGES = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
)  # fmt: skip


def validate_signing_request(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    """Problems of a new request; what was let in once stays as it is, whatever the rules are now."""
    return [] if old is not None else list(_problems(section(manifest, "spec"), "spec"))


def _problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    request, usages, signer = spec.get("request", ""), texts(spec, "usages"), spec.get("signerName", "")
    if subject_of_request(request) is None:
        yield Problem.invalid(f"{path}.request", request, "PEM block type must be CERTIFICATE REQUEST")
    if not usages:
        yield Problem.required(f"{path}.usages", "usages must be provided")
    for index, usage in enumerate(usages):
        yield from one_of(usage, _USAGES, f"{path}.usages[{index}]")
    for index, usage in enumerate(usages):
        if usage in usages[:index]:
            yield duplicate(f"{path}.usages[{index}]", usage)
    yield from _signer_problems(signer, f"{path}.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < SHORTEST_SECONDS:
        said = f"may not specify a duration less than {SHORTEST_SECONDS} seconds (10 minutes)"
        yield Problem.invalid(f"{path}.expirationSeconds", seconds, said)


def _signer_problems(signer: str, path: str) -> Iterator[Problem]:
    """A signer is called by a domain and a name in it."""
    if signer == _LEGACY:
        yield Problem.invalid(path, signer, "the legacy signerName is not allowed via this API version")
        return
    if not signer:
        yield Problem.required(path)
        return
    domain, *names = signer.split("/")
    if len(names) != 1:
        said = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield Problem.invalid(path, signer, said)
        return
    labels = domain.split(".")
    for label in labels:
        yield from (Problem.invalid(path, domain, f'validating label "{label}": {said}') for said in dns_label(label))
    if len(labels) < 2:
        yield Problem.invalid(path, domain, "should be a domain with at least two segments separated by dots")
    for part in names[0].split("."):
        faults = (f'validating label "{part}": {said}' for said in dns_subdomain(part))
        yield from (Problem.invalid(path, names[0], said) for said in faults)
    if len(signer) > _MAX_SIGNER_BYTES:
        yield too_long(path, _MAX_SIGNER_BYTES)
