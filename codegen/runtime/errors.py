"""Errors of a caller, distinguished from errors of this program."""


class CallError(ValueError):
    """What a caller gave does not fit; the message names it and says what would.

    Every other exception that leaves a call is a bug, or the machine's doing.
    """
