"""`python -m bench [NAME ...]`: runs all benchmarks, or those that are named. Options go to the one before them."""

import importlib
import sys
from itertools import takewhile

BENCHMARKS = (
    "walkthrough",
    "sim",
    "scheduling",
    "matching",
    "rendering",
    "lua",
    "propagating",
    "binding",
    "keeping",
    "takeover",
    "turns",
    "shards",
    "foresight",
    "explaining",
    "dashboard",
    "first_view",
    "fleet",
    "summaries",
    "client",
    "apiserver",
    "deliveries",
    "watches",
)


def main() -> None:
    names = list(takewhile(lambda argument: not argument.startswith("-"), sys.argv[1:]))
    for name in names or BENCHMARKS:
        if name not in BENCHMARKS:
            sys.exit(f"there is no benchmark {name}; there are: {', '.join(BENCHMARKS)}")
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").run()


main()
