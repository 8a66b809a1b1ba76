"""Tables as kubectl prints them: columns aligned by spaces, so that they can be read and cut; and texts of others."""

from collections.abc import Collection, Sequence

from kubeapi.text import shown

MAX_CELL = 512
"""Letters: one cell does not push the others out of sight."""


def render_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, figures: Collection[int] = (), gap: int = 3
) -> str:
    """Lines without trailing spaces; an empty cell is shown as `-`. Columns of `figures` are aligned right."""
    table = [list(header), *([shown(cell, MAX_CELL) or "-" for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    return "\n".join(
        (" " * gap)
        .join(
            cell.rjust(width) if column in figures else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        .rstrip()
        for row in table
    )


def printable(text: str) -> str:
    """`text` in one line, with everything escaped that a terminal would act on: nobody can forge a line of ours."""
    return shown(text)
