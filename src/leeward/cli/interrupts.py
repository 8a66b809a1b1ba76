"""Ctrl-C, SIGTERM and SIGHUP end a verb alike, so that it cleans up after itself."""

import signal


def interrupt_on_termination() -> None:
    """Lets the three raise KeyboardInterrupt from now on, also where a shell started us with SIGINT ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
