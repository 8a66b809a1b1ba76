"""Identity of those who ask: certificates, tokens, and the token file."""

from pathlib import Path
from typing import Any

import pytest

from kubeapi.transport import Request
from kubeserver.auth.authentication import Authenticator, BadCredential, load_token_file
from kubeserver.handler import ANONYMOUS, User

TOKENS = {"s3cret": User("alice", ("dev",), "7"), "other": User("bob", ("system:authenticated",))}
CERTIFICATE: dict[str, Any] = {
    "subject": ((("organizationName", "system:masters"),), (("organizationName", "ops"),), (("commonName", "root"),))
}


def ask(authorization: str = "", certificate: dict[str, Any] | None = None) -> User:
    headers = {"authorization": authorization} if authorization else {}
    return Authenticator(TOKENS).authenticate(Request("GET", "/", {}, headers), certificate)


def test_a_known_token_is_its_user_in_the_group_of_all_authenticated_ones() -> None:
    assert ask("Bearer s3cret") == User("alice", ("dev", "system:authenticated"), "7")
    assert ask("bearer other") == User("bob", ("system:authenticated",))


def test_a_certificate_is_its_common_name_in_its_organizations_and_wins_over_a_token() -> None:
    user = User("root", ("system:masters", "ops", "system:authenticated"))
    assert ask(certificate=CERTIFICATE) == user
    assert ask("Bearer wrong", CERTIFICATE) == user


@pytest.mark.parametrize("authorization", ["", "Basic YTpi", "Bearer", "Bearer "])
def test_without_a_credential_one_is_anonymous(authorization: str) -> None:
    assert ask(authorization) == ANONYMOUS
    assert ask(authorization, {}) == ANONYMOUS
    assert ask(authorization, {"subject": ((("organizationName", "system:masters"),),)}) == ANONYMOUS


def test_an_unknown_token_is_refused_and_not_repeated() -> None:
    with pytest.raises(BadCredential) as caught:
        ask("Bearer s3cre")
    assert "s3cre" not in str(caught.value)


def test_tokens_do_not_show() -> None:
    authenticator = Authenticator(TOKENS)
    assert "s3cret" not in repr(authenticator) + repr(vars(authenticator))


def write(directory: Path, text: str) -> Path:
    path = directory / "tokens.csv"
    path.write_text(text)
    return path


def test_a_token_file_is_read(tmp_path: Path) -> None:
    text = 's3cret,alice,7,"dev,ops"\nother,bob,8\n\nthird,"carol", 9 ,"system:masters"\n'
    assert load_token_file(write(tmp_path, text)) == {
        "s3cret": User("alice", ("dev", "ops"), "7"),
        "other": User("bob", (), "8"),
        "third": User("carol", ("system:masters",), "9"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s3cret,alice\n", "line 1: has 2 columns; it takes token,user,uid"),
        ("a,b,c\n,alice,7\n", "line 2: the token is empty"),
        ("s3cret,,7\n", "line 1: the user is empty"),
        ("s3cret,alice,7\ns3cret,bob,8\n", "line 2: the token is there twice"),
    ],
)
def test_a_broken_token_file_is_refused_by_line_and_without_its_tokens(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        load_token_file(write(tmp_path, text))
    assert "s3cret" not in str(caught.value)


def test_a_missing_token_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"token file .*none\.csv: .*No such file"):
        load_token_file(tmp_path / "none.csv")
