"""Conversion by webhook: what an object of a custom kind is in another version, says whoever defined the kind.

    objects ▸ not known yet, and nobody is asking? ▸ in batches over HTTPS ▸ checked, and remembered
              `conversion_cache.py`                       `webhook.py`           `review.py`

Webhooks are reached as those of admission are: through the same port, at a URL or behind a Service.

Kubernetes: apiextensions-apiserver/pkg/apiserver/conversion; the same words and checks. Differs: what a list or a watch
shows goes out in batches, there one by one; and what the server itself deletes, it takes as it is stored, so that a
webhook that is gone holds up no end of a namespace or of a definition.

Start reading at `webhook.py`.
"""
