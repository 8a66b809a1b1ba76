"""What a Work must contain, what the member's object must look like, and what the clusters' reports add up to.

Start reading at `works.py` (binding to Works) and `retain.py` (Work to member object).
"""
