"""`python -m leeward.sim`: see `leeward.sim.histories.command`."""

import sys

from leeward.sim.histories.command import main

if __name__ == "__main__":
    sys.exit(main())
