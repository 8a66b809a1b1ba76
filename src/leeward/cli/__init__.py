"""The command line: one module per verb, imported when it is called.

A verb parses what was typed, calls what does it, and prints; it decides nothing. Processes are those of `leeward.app`,
what operators do is in `leeward.operations`, what is asked in `leeward.answers`. `--help` and `status` must be quick:
nothing here imports more than click before a verb is known.
"""

from leeward.cli.program import kubectl_plugin, main

__all__ = ["kubectl_plugin", "main"]
