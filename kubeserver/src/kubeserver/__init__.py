"""A Kubernetes API server for tests, laptops and embedded control planes, in one Python process.

    http ──────┐                       ┌─▸ discovery, health            what is served
    inprocess ─┴─▸ handlers ─▸ auth ──▸│
                                       └─▸ registry ─▸ admission, dynamic_admission
                                             ├──▸ kinds, apiextensions (with conversion)
                                             └──▸ store ◂── controllers

`start_apiserver` (`starting.py`) puts one together over a store; `ApiServer.handle` answers one request, wherever it
came from. The registry knows what the verbs mean for a kind; the store knows revisions, watches and durability.

Further kinds, who else has a say in what is written, which certificates need no person, and what is behind a connect
subresource: whoever embeds the server tells it (README.md). Never knows what its objects are for.

Start reading at `handler.py`, then `handlers/server.py`.
"""

__version__ = "0.1.0"
