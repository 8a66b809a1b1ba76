"""Ground of controllers: caches that follow an API server, queues without duplicates, a loop that reconciles.

    Informer  --change-->  WorkQueue  --key-->  reconcile  --writes-->  Client
       ^                                                                  |
       +------------------------ the API server <-------------------------+

A key carries only a name, so that code which reacts to *what changed* instead of *what is* cannot be written.

Kubernetes: the parts of controller-runtime and of client-go's `tools`. Never knows a kind that is not Kubernetes' own.
"""
