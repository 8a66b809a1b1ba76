"""Handlers: from a request to an answer.

    chain ▸ measuring ▸ audit ▸ fairness ▸ server ▸ answering ▸ reading, writing, deleting, ... ▸ presenting

`server.py` says who answers a path; each verb goes to the registry and back. Stores nothing itself.
"""
