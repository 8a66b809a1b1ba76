"""Tables as kubectl prints them: columns aligned by spaces, so that they can be read and cut."""

from collections.abc import Sequence


def render_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines without trailing spaces; an empty cell is shown as `-`."""
    table = [list(header), *([cell or "-" for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
    )
