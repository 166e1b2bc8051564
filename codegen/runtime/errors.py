"""What a caller did wrong, told apart from what this program does wrong."""


class CallError(ValueError):
    """What a caller gave does not fit; the message names it and says what would.

    Every other exception that leaves a call is a bug, or the machine's doing.
    """
