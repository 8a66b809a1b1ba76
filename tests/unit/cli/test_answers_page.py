"""docs/answers.md shows what the verbs print."""

from tests.answers_page import PAGE, page


def test_the_page_of_answers_is_what_the_verbs_print() -> None:
    """`python -m tests.answers_page` writes it anew."""
    assert page() == PAGE.read_text()
