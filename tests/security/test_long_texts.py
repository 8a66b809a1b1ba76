"""Long texts in values: each is read in a time that grows with its length, not with its square.

    has            the right to write one object with a text as large as the server takes
    does           writes a quantity, or a field with a format, that nearly is one
    must not get   a loop that stands still for hours

Holds: L4.
"""

import subprocess
import sys

import pytest

READ = """
from contextlib import suppress
from kubeapi.quantity import canonical_quantity
from kubeserver.apiextensions import formats

parts = ("0", "1", "1 ", "a", "a.", "a b ", "(", '"', "1:", "1h", "1.1h", "%41", "a-")
for part in parts:
    for end in ("", "x", "!", " ,"):
        text = part * (200_000 // len(part)) + end
        with suppress(ValueError):
            canonical_quantity(text)
        for name in formats._FORMATS:
            formats.has_format(text, name)
"""
"""A square of these lengths is minutes; their sum is some seconds."""


@pytest.mark.long
def test_l4_no_text_takes_the_square_of_its_length() -> None:
    subprocess.run([sys.executable, "-c", READ], check=True, timeout=120)
