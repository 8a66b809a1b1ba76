"""Search for faults in Leeward: histories that are drawn at random, and small worlds that are searched to their end.

    histories ──play──▶ leeward.sim.World (the product on virtual time)
    small     ──ask───▶ leeward.core (its decisions alone)

It is a package of its own and not in the wheel: only developers run it. Nothing of the product imports it.
"""
