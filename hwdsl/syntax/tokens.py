"""What the lexer hands on: terminals and their places."""

from attrs import define

END = "$END"
BROKEN = "BROKEN"  # a place already reported: the parser recovers there and says nothing
MAX_ERRORS = 50  # per file and stage: more would only repeat the first


@define(eq=False)
class Token:
    """A terminal and its place. `depth` counts the open braces after it (set by the joiner)."""

    kind: str
    start: int
    end: int
    depth: int = 0
