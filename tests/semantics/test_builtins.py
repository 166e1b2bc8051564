"""The functions of the language: their declarations say what calls are, and each has its value."""

import re
from itertools import product
from pathlib import Path

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.codegen.operations import FORMULAS, OPERATIONS, record
from hwdsl.elaborate.builtins import HANDLERS
from hwdsl.semantics.builtins import SPECIAL, VARIADIC, declarations
from hwdsl.semantics.checker import check
from hwdsl.semantics.modules import BUILTINS, library_root, load
from hwdsl.semantics.symbols import Real
from hwdsl.semantics.type_relations import BOOL, INT, REAL
from hwdsl.syntax import format_module

LANGUAGE = Path(__file__).parents[2] / "docs" / "language.md"


def checked(text: str) -> tuple[object, list[str]]:
    """The type of `y` in a file, and what the check found."""
    diagnostics = Diagnostics()
    program = check(load(Source("t.hw", f"edition 2026\n{text}\n"), diagnostics), diagnostics)
    info = program.main.values.get("y")
    return getattr(info, "type", None), [d.name for d in diagnostics.items]


@pytest.mark.parametrize("name", sorted(declarations()))
def test_each_function_is_an_operation_or_has_a_handler(name: str) -> None:
    if name not in HANDLERS:
        assert name in FORMULAS
        assert OPERATIONS[name].arity == len(declarations()[name].parameters)
    assert declarations()[name].doc


@pytest.mark.parametrize("name", sorted(FORMULAS.keys() & declarations().keys() - HANDLERS.keys()))
def test_a_signature_makes_an_int_where_the_operation_does(name: str) -> None:
    """`f(x: D) -> D` says int of ints: where the value is real, a function needs a rule."""
    operation = OPERATIONS[name]
    for types in product((record.INT, record.REAL), repeat=operation.arity):
        arguments = ", ".join("2" if each == record.INT else "2.5" for each in types)
        type_, found = checked(f"let y = {name}({arguments})")
        assert not found
        assert (type_ == INT) is (operation.type.result(list(types)) == record.INT), types


def test_no_rule_or_handler_is_for_nothing() -> None:
    assert {*HANDLERS, *SPECIAL, *VARIADIC} <= declarations().keys()


def test_the_declarations_are_sound() -> None:
    diagnostics = Diagnostics()
    path = library_root().joinpath(*BUILTINS.split(".")).with_suffix(".hw")
    program = check(load(path, diagnostics), diagnostics)
    assert not diagnostics.items
    assert format_module(program.main.tree) == path.read_text("utf-8")


def test_the_language_page_lists_the_functions() -> None:
    text = LANGUAGE.read_text("utf-8").partition("- Functions of the language:")[2]
    quoted = re.findall(r"`([a-z0-9_ ]+)`", text.partition("The\n  library's")[0])
    assert declarations().keys() == {w for each in quoted for w in each.split()} - {"for"}


@pytest.mark.parametrize(
    ("value", "type"),
    [
        ("abs(-2)", INT),
        ("abs(-2.5)", REAL),
        ("sqrt(4)", REAL),
        ("floor(2.5)", INT),
        ("mean([1, 2])", REAL),
        ("quantile([1, 2], 0.5)", REAL),
        ("interp(1, [1, 2], [3, 4])", REAL),
        ("sum([1, 2])", INT),
        ("any([true])", BOOL),
        ("max(1, 2)", INT),
        ("log2(1 s)", REAL),
        ("first_known(1, 2.5)", REAL),
        ("first_known(true, false)", BOOL),
    ],
)
def test_the_type_of_a_call(value: str, type: object) -> None:
    assert checked(f"let y = {value}")[0] == type


def test_a_signature_says_the_dimension() -> None:
    found, findings = checked("let y = sqrt(4 m^2)")
    assert isinstance(found, Real)
    assert [(b, float(p)) for b, p in found.dim.powers] == [("std.units.length", 1.0)]
    assert not findings
    found, _ = checked("let y = interp(1 s, [0 s, 2 s], [1 GB, 2 GB])")
    assert isinstance(found, Real)
    assert [b for b, _ in found.dim.powers] == ["std.units.data"]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("let y = log2(1 s)", "unit-mismatch"),
        ("let y = interp(1 s, [1 m], [2])", "unit-mismatch"),
        ("let y = quantile([1, 2], 1 s)", "unit-mismatch"),
        ("let y = all([1])", "type-mismatch"),
        ("let y = log2()", "missing-argument"),
        ("let y = first_known(1)", "missing-argument"),
        ("let y = first_known(0, 1 s, 1 m)", "unit-mismatch"),
        ("let y = log2(1, 2)", "unknown-argument"),
        ("let y = log2(x = 2)", "unknown-argument"),
        ("let y = lgo2(2)", "unknown-function"),
        ("extern fn f(x: real) -> real", "misplaced-extern"),
    ],
)
def test_what_a_signature_forbids(text: str, finding: str) -> None:
    assert finding in checked(text)[1]


def test_an_import_of_a_function_of_the_language_is_told_that_it_needs_none() -> None:
    diagnostics = Diagnostics()
    source = Source("t.hw", "edition 2026\nuse std.math: sqrt\nlet y = sqrt(4)\n")
    check(load(source, diagnostics), diagnostics)
    (finding,) = diagnostics.items
    assert finding.name == "unknown-name"
    assert "without a `use`" in str(finding.help)


def test_a_function_of_a_file_hides_one_of_the_language() -> None:
    found, findings = checked('fn log2(x: text) -> int = 3\nlet y = log2("a")')
    assert found == INT
    assert not findings
