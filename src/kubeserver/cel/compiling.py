"""Compiles expressions, and remembers them. The library behind it is loaded with the first one."""

from functools import lru_cache

from kubeserver.cel.program import Program

REMEMBERED_PROGRAMS = 4_096


@lru_cache(REMEMBERED_PROGRAMS)
def compile_program(text: str, variables: tuple[str, ...] = ("self", "oldSelf")) -> Program:
    """Raises: Unwritable."""
    from kubeserver.cel.library import compile_cel

    return compile_cel(text, variables)
