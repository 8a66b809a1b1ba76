"""Propagation: which policy claims which template, and the binding that results.

Start reading at `matching.py` and `binding.py`.
"""
