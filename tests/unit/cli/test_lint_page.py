"""docs/lint.md lists the rules of lint, and shows what it prints."""

from tests.lint_page import PAGE, page


def test_the_page_of_lint_is_what_its_table_and_the_verb_say() -> None:
    """`python -m tests.lint_page` writes it anew."""
    assert page() == PAGE.read_text()
