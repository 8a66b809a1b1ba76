"""Token files in the form of kube-apiserver's `--token-auth-file`: `token,user,uid,"group"`, one token in each."""

from pathlib import Path

from kubeapi.files import write_file
from kubeapi.loop.randomness import Randomness
from leeward.app.local.errors import FleetError


def ensure_token(path: Path, user: str, group: str, randomness: Randomness) -> None:
    """Makes the file when it is not there."""
    if not path.exists():
        write_file(path, f'{randomness.token()},{user},{randomness.uid()},"{group}"\n')


def read_token(path: Path) -> str:
    """The token in the file. Raises: FleetError."""
    try:
        token = path.read_text().partition(",")[0].strip()
    except OSError as error:
        raise FleetError(f"the token file {path} cannot be read ({error.strerror}): run `leeward up` again") from error
    if not token:
        raise FleetError(f"the token file {path} is empty: delete it, and `leeward up` makes it anew")
    return token
