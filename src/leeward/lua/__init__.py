"""Lua scripts of ResourceInterpreterCustomizations, run where they can do no harm.

`sandbox.py` runs one call in an interpreter of which `prelude.lua` leaves nothing that reaches out; `worker.py` is a
process around it, without files and network, which the kernel ends when a call takes too long; `jail.py` keeps such
processes, and is what the rest of the product calls. `kube_library.py` is what scripts get from `require("kube")`.

A script is hostile until proven otherwise: it may cost its own object an answer, and nothing else. Never here: what an
answer means (`core/interpreter/scripts.py`), and which script answers for what (`runtime/interpreter.py`).
"""
