"""Every diagnostic of the compiler: its name, a line about it, its page.

A name is never reused for something else. Rules of descriptions (`die.reticle`) are not listed: their
message and help stand in the `.hw` file.
"""

from collections.abc import Mapping
from importlib.resources import files

CATALOG: Mapping[str, str] = {
    "affine-unit": "a unit with a zero point of its own stands in a product",
    "ambiguous-name": "two imports bring the same name",
    "bad-exponent": "an exponent is zero below the bar or out of bounds",
    "bad-table": "an imported table has a cell or header that cannot be read",
    "bad-unit": "a unit is not defined by a positive quantity",
    "dimension-variable": "no parameter fixes a dimension variable",
    "duplicate-name": "a name is declared twice",
    "import-cycle": "modules use each other in a circle",
    "kind-cycle": "kinds extend each other in a circle",
    "missing-argument": "something that must be given is left out",
    "number-too-large": "a number is beyond what a float64 holds",
    "reserved-name": "a name of the language is declared again",
    "shadows-unit": "a unit has the name of a variable in sight",
    "type-mismatch": "a value is not of the type wanted",
    "unclosed-bracket": "a bracket is never closed",
    "unknown-character": "a character means nothing in the language",
    "unknown-kind": "no kind has this name",
    "unknown-module": "`use` names a module that does not exist",
    "unknown-unit": "no unit has this name",
    "unreadable-file": "a file cannot be read",
    "unterminated-text": "a text has no closing quote on its line",
}
"""Name of the diagnostic to a line about it; each has a page in `hwdsl/pages/`."""


def page(name: str) -> str:
    """The page of a diagnostic: what it means, an example that fails, the same mended."""
    return (files("hwdsl.pages") / f"{name}.md").read_text(encoding="utf-8")
