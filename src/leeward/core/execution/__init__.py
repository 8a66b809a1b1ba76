"""Execution: what a Work must contain, how a member's object must look, and what the clusters' reports add up to.

Start reading at `works.py` (binding to Works) and `retain.py` (Work to member object).
"""
