"""The error of an operator's request."""


class OperationFailed(Exception):
    """Something that the operator can mend; the message names the fault and the way out."""
