"""The embedded Kubernetes API server: a durable store, the registry of kinds on top, and two ways in.

`ApiServer.handle` answers one request, wherever it came from: over HTTPS (`http.py`) or from inside the process
(`inprocess.py`). Below it are the registry (what the verbs mean for a kind) and the store (revisions, watches,
durability).

Never runs a controller of Leeward's, and knows nothing of failover.

Start reading at `handler.py`, then `server.py`.
"""
