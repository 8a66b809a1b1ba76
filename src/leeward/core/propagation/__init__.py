"""Propagation: which policy claims which template, and what binding results.

Start reading at `matching.py` and `binding.py`.
"""
