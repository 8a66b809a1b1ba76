"""The error of what an operator asks for."""


class OperationFailed(Exception):
    """Something that the operator can mend; the message names what is wrong and the way out."""
