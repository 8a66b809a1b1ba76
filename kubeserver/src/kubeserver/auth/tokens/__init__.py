"""Credentials that the API server itself gives out: service account tokens, bootstrap tokens, client certificates.

    TokenRequest ▸ `accounts.py` ▸ a signed JWT (`jwt.py`, `keys.py`) ▸ shown again, `accounts.py` knows whose it is

Every credential ends: by its time, with the object that it is bound to, or with its account. None is ever stored or
logged; only the key that signs them is kept, in a file for its owner alone.
"""

from kubeserver.auth.tokens.accounts import ServiceAccountTokens
from kubeserver.auth.tokens.bootstrap import BootstrapTokens
from kubeserver.auth.tokens.keys import SigningKey, load_signing_key

__all__ = ["BootstrapTokens", "ServiceAccountTokens", "SigningKey", "load_signing_key"]
