"""Kinds of tokens that no terminal of the grammar names, and the limits of the reader."""

END = "$END"  # what Lark calls the end of the text
BROKEN = "BROKEN"  # a place already reported: the parser recovers there and says nothing
MAX_ERRORS = 50  # per file and stage: more would only repeat the first
MAX_HEIGHT = 200  # of a tree: what walks through trees may recurse
