"""Captures what the product logs while a history is played; keeps it from the terminal, and never changes what happens.

What it logs as an error with a traceback is a bug: no history justifies one.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager

PRODUCT = ("leeward", "kubecluster", "controller_runtime", "kubeclient")
"""The loggers of the product."""


@contextmanager
def captured_logs(found: Callable[[str], None]) -> Generator[None]:
    """Tells `found` of each bug, in one line, as long as this lasts. What is less than an error is not even made."""
    handler, disabled = _CapturingHandler(found), logging.root.manager.disable
    loggers = {logger: logger.propagate for logger in map(logging.getLogger, PRODUCT)}
    logging.disable(logging.WARNING)
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, propagated in loggers.items():
            logger.propagate = propagated
            logger.removeHandler(handler)
        logging.disable(disabled)


class _CapturingHandler(logging.Handler):
    def __init__(self, found: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            self._found(f"{record.getMessage()}: {type(error).__name__}: {error}")
