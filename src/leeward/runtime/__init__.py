"""Ground of the controllers: caches that follow an API server, queues without duplicates, a loop that reconciles.

    Informer  --change-->  WorkQueue  --key-->  reconcile  --writes-->  Client
       ^                                                                  |
       +------------------------ the API server <-------------------------+

A key carries only a name, so that code which reacts to *what changed* instead of *what is* cannot be written.

Never decides anything: that is `leeward.core`.
"""
