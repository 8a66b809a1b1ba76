"""`python -m bench [NAME ...]`: runs all benchmarks, or those that are named."""

import importlib
import sys

BENCHMARKS = (
    "walkthrough",
    "sim",
    "scheduling",
    "matching",
    "rendering",
    "lua",
    "propagating",
    "foresight",
    "explaining",
    "dashboard",
    "apiserver",
    "watches",
)


def main() -> None:
    for name in sys.argv[1:] or BENCHMARKS:
        if name not in BENCHMARKS:
            sys.exit(f"there is no benchmark {name}; there are: {', '.join(BENCHMARKS)}")
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").run()


main()
