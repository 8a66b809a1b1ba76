"""Who asks, and what they may do: credentials, rights, and the tokens and certificates that the server gives out."""
