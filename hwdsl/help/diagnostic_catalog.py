"""Every diagnostic of the compiler: its name, a line about it, its page.

A name is never reused for something else. Rules of descriptions (`die.reticle`) are not listed:
their message and help stand in the `.hw` file.
"""

from collections.abc import Mapping

from hwdsl.base.fingerprint import package_folder

CATALOG: Mapping[str, str] = {
    "affine-unit": "a reading of a scale with its own zero is calculated with",
    "always-true": "a test by `is` names all cases of its enum",
    "ambiguous-name": "two imports bring the same name",
    "amend-through-ref": "a part is amended through a reference to it",
    "bad-count": "a count is negative",
    "bad-display": "a figure or table asks for what cannot be shown",
    "bad-exponent": "an exponent is zero below the bar or out of bounds",
    "bad-number": "a number is written in a way the language does not have",
    "bad-table": "an imported table has a cell or header that cannot be read",
    "bad-tolerance": "`within` does not say what it means",
    "bad-unit": "a unit is not defined by a positive quantity",
    "call-cycle": "functions call each other, or kinds hold each other, in a circle",
    "dimension-variable": "no parameter fixes a dimension variable",
    "duplicate-name": "a name is declared twice",
    "empty-choice": "a choice has nothing to choose from",
    "empty-file": "a file declares nothing",
    "empty-list": "a reducer meets an empty list",
    "field-cycle": "a value needs itself",
    "floor-division": "`//` is not an operator",
    "foreign-syntax": "something is written as in another language",
    "import-cycle": "modules use each other in a circle",
    "index-out-of-range": "a list has no element of that number",
    "int-from-real": "an int is wanted and a real is given",
    "int-too-large": "an int is not below 2^53",
    "kind-cycle": "kinds extend each other in a circle",
    "let-amended": "a derived value is set",
    "missing-argument": "something that must be given is left out",
    "missing-edition": "the file does not say which edition of the language it is written in",
    "missing-field": "a component lacks the value of a field",
    "misplaced-extern": "a file declares a function of the language",
    "misplaced-member": "a member stands where only a kind can declare one",
    "no-output": "an evaluator has no output",
    "not-a-number": "a number is wanted and something else is given",
    "not-exhaustive": "a `match` leaves out a case",
    "not-known": "something must be known when the file is compiled and depends on a param",
    "not-settled": "an iteration whose `until` never held",
    "not-utf8": "the file is not UTF-8 text",
    "not-whole": "a number must be whole and is not",
    "number-too-large": "a number is beyond what a float64 holds",
    "outside-range": "a value lies outside the range of a param",
    "outside-table": "a value lies outside a table",
    "path-overlap": "two lines of a block set the same thing",
    "repeated-alternative": "a choice has an alternative twice",
    "reserved-name": "a name of the language is declared again",
    "shadows-member": "a variable hides a member of the record",
    "shadows-unit": "a unit has the name of a variable in sight",
    "syntax-error": "the text does not follow the grammar",
    "table-points": "the points of a table do not fit",
    "too-deep": "something is nested too deeply",
    "too-large": "a list or an evaluator is too large",
    "type-cycle": "types are defined by each other in a circle",
    "type-mismatch": "a value is not of the type wanted",
    "unclosed-bracket": "a bracket is never closed",
    "unequal-lengths": "lists of different lengths meet where they must be equally long",
    "unit-mismatch": "two quantities of different dimensions meet",
    "unknown-argument": "a function is given an argument it does not have",
    "unknown-character": "a character means nothing in the language",
    "unknown-edition": "the file names an edition that this compiler does not know",
    "unknown-field": "a component has no field or part of that name",
    "unknown-function": "no function has this name",
    "unknown-kind": "no kind has this name",
    "unknown-module": "`use` names a module that does not exist",
    "unknown-name": "nothing has this name",
    "unknown-prefix": "a unit names a prefix that does not exist",
    "unknown-reference": "no reference has this name",
    "unknown-rule": "a waiver names a rule that does not exist",
    "unknown-type": "no type has this name",
    "unknown-unit": "no unit has this name",
    "unknown-value": "a field is read whose value nobody knows",
    "unreachable-arm": "a pattern of a `match` or `is` is never reached",
    "unread-param": "no output and no rule depends on a param",
    "unreadable-file": "a file cannot be read",
    "unused-let": "nothing reads a `let`",
    "unused-private": "nothing reads a private name",
    "unused-use": "nothing reads what `use` brings",
    "unterminated-text": "a text has no closing quote on its line",
}
"""Name of the diagnostic to a line about it; each has a page in `hwdsl/help/pages/`."""


def page(name: str) -> str:
    """The page of a diagnostic: what it means, an example that fails, the same mended."""
    return (package_folder("hwdsl.help.pages") / f"{name}.md").read_text(encoding="utf-8")
