"""The unified auth controller: who may act in a member through the cluster proxy; `impersonator_works` carry it."""

from leeward.controllers.unified_auth.unified_auth import UnifiedAuthController

__all__ = ["UnifiedAuthController"]
