"""Authentication and authorization: credentials, rights, and the tokens and certificates that the server gives out."""
