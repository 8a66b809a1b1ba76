"""`python -m simulator`: see `simulator.histories.command`."""

import sys

from simulator.histories.command import main

if __name__ == "__main__":
    sys.exit(main())
