"""Settings of who asks estimators: how they are found and trusted. Without gRPC, so that every verb can read them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorAccess:
    """Settings by which estimators are found and trusted: --scheduler-estimator-*, --insecure-skip-estimator-verify.

    Without `authority` a connection is in the clear, unless any certificate will do (`skip_verify`).
    """

    enabled: bool = False
    port: int = 10_352
    service_prefix: str = "karmada-scheduler-estimator"
    service_namespace: str = "karmada-system"
    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    skip_verify: bool = False
