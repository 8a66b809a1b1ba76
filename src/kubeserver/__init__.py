"""The embedded Kubernetes API server: a durable store, the registry of kinds on top, and two ways in.

    http ──────┐                  ┌─▸ discovery, health          what is served
    inprocess ─┴─▸ server ─▸ access
                                  └─▸ verbs ─▸ registry ─▸ admission, policies, webhooks
                                                      ├──▸ kinds, custom (with conversion)
                                                      └──▸ store ◂── housekeeping

`ApiServer.handle` answers one request, wherever it came from: over HTTPS or from inside the process. The registry knows
what the verbs mean for a kind; the store knows revisions, watches and durability.

Never runs a controller of Leeward's, and knows nothing of failover.

Start reading at `handler.py`, then `server.py`.
"""
