"""`hwdsl explain` says what the library holds: folders, modules, kinds, parts."""

import pytest

from hwdsl import contents
from hwdsl.cli.main import main
from hwdsl.diagnostics import Diagnostics
from hwdsl.semantics.modules import library_root
from hwdsl.source import Source
from hwdsl.syntax import ast, parse

MODULES = [name for name in contents.names() if "." in name]


def tree(module: str) -> ast.Module:
    file = library_root().joinpath(*module.split(".")).with_suffix(".hw")
    return parse(Source(module, file.read_text(encoding="utf-8")), Diagnostics())


def test_there_are_pages() -> None:
    assert {"std", "vendor", "std.die", "vendor.nvidia"} <= set(contents.names())
    assert "| vendor.nvidia " in (contents.page("vendor") or "")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_lists_what_it_declares(module: str) -> None:
    page = contents.page(module)
    assert page is not None
    listed = {line.split("|")[2].strip() for line in page.splitlines() if line.startswith("|")}
    for item in tree(module).items:
        if isinstance(item, ast.Part | ast.Kind | ast.Fn | ast.Enum | ast.Evaluator):
            assert item.name.name in listed


@pytest.mark.parametrize("module", [m for m in MODULES if m.startswith("std.")])
def test_a_kind_lists_its_fields(module: str) -> None:
    for item in tree(module).items:
        if isinstance(item, ast.Kind):
            page = contents.page(item.name.name) or ""
            for member in item.members:
                if isinstance(member, ast.Field):
                    assert f"| {member.name.name} " in page


def test_a_part_shows_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "NVSwitch2"]) == 0
    printed = capsys.readouterr().out
    assert "# switch NVSwitch2: `vendor.switches`" in printed
    assert "radix" in printed


@pytest.mark.parametrize("name", ["..", "/etc", "vendor/../std", "", "std..die", "no_such_name"])
def test_nothing_else_is_found(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert contents.page(name) is None
    assert main(["explain", name]) == 2
    assert "of the library is called" in capsys.readouterr().err


def test_a_typo_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "vendor.nvidea"]) == 2
    assert "did you mean `vendor.nvidia`?" in capsys.readouterr().err
