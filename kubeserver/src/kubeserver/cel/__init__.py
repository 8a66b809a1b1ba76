"""CEL as Kubernetes speaks it: expressions of definitions, admission policies and webhooks. Knows none of the three.

    program ─▸ library         which reads and evaluates; loaded with the first expression
                   ├─ functions    what Kubernetes adds to the language: values, formats, network, authorizer
                   ├─ macros       what the library lacks, written in what it has
                   ├─ spelling     escaped names and optional values, in the same way
                   ├─ literals     members of lists and maps have one type
                   └─ patterns     regular expressions in linear time
    objects                        what mutating policies make, written as maps

What an expression may cost is told by `budget`, with `member_matching`.
"""

from kubeserver.cel.budget import OUT_OF_BUDGET, Budget, Exhausted, matching_of, nesting_of
from kubeserver.cel.member_matching import each_matched
from kubeserver.cel.program import Program, Unwritable, compile_program
from kubeserver.cel.spelling import with_optional_old

__all__ = [
    "OUT_OF_BUDGET",
    "Budget",
    "Exhausted",
    "Program",
    "Unwritable",
    "compile_program",
    "each_matched",
    "matching_of",
    "nesting_of",
    "with_optional_old",
]
