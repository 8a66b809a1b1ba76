"""`python -m leeward.cli`: how a fleet starts its components."""

from leeward.cli.program import main

main()
