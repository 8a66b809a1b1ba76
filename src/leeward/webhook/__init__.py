"""Admission over HTTPS, for a control plane on a real kube-apiserver; the embedded server does it within itself.

    /mutate    defaults of Karmada's kinds            (leeward.api.defaulting)
    /validate  their rules, and protected deletions   (leeward.api.validation)

The package holds the two answers, the server that gives them, its certificates, and the configurations that point the
kube-apiserver to it. It decides nothing itself and keeps nothing but its certificate.
"""

from leeward.webhook.configurations import Endpoint
from leeward.webhook.serving import Webhook, WebhookSettings

__all__ = ["Endpoint", "Webhook", "WebhookSettings"]
