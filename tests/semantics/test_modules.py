"""Files that use files and tables."""

import os
import sys

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.semantics import check, load
from hwdsl.semantics.modules import library_root
from hwdsl.semantics.renamed import new_module
from hwdsl.semantics.symbols import TableInfo


@pytest.fixture(name="write")
def _write(tmp_path):
    def write(**texts: str):
        for name, text in texts.items():
            path = tmp_path.joinpath(*name.split("__")).with_suffix(".hw")
            path.parent.mkdir(exist_ok=True)
            path.write_text("edition 2026\n" + text)

    return write


OTHER = """
enum law { hooke, ohm }
dimension luck
unit lot : luck prefix k
let one = 1 lot
let _hidden = 1
kind box { size : luck = 1 lot }
box SMALL { }
fn double(x: luck) -> luck = 2 * x
let shown = _hidden
"""


def test_a_wildcard_brings_everything_public(verify, write, tmp_path):
    write(other=OTHER)
    verify(
        """
        use other
        let a = one + 2 klot + double(1 lot) + SMALL.size + box(size = 1 lot).size
        let b = other.one + other.SMALL.size + other.double(1 lot)
        let c = other.law.ohm == law.ohm
        let d = _hidden                                  # error: unknown-name
        let e = other.nothing                            # error: unknown-name
        """,
        tmp_path,
    )


def test_a_list_brings_what_it_names(verify, write, tmp_path):
    write(other=OTHER)
    verify(
        """
        use other as o: one, lot, nothing                # error: unknown-name
        let a = one + 1 klot + o.double(1 lot)
        let b = SMALL                                    # error: unknown-name
        let c = nothing
        """,
        tmp_path,
    )


def test_two_wildcards_clash_only_where_used(verify, write, tmp_path):
    write(other=OTHER, third="let one = 1\nlet two = 2\n", sub__inner="let deep = 1 s\n")
    verify(
        """
        use other
        use third
        use sub.inner
        let a = two + deep / 1 s
        let b = one                                      # error: ambiguous-name
        """,
        tmp_path,
    )
    verify("use other\nuse third\nuse third: one\nlet b = one + two", tmp_path)
    verify("use other\nuse third\nlet one = 1\nlet b = one + two", tmp_path)


def test_circles_of_imports_are_named(verify, write, tmp_path):
    write(a="use b\nlet x = 1\n", b="use a\nlet y = 1\n")
    diagnostics = Diagnostics()
    check(load(tmp_path / "a.hw", diagnostics), diagnostics)
    assert [d.name for d in diagnostics.items] == ["import-cycle"]
    assert "a -> b -> a" in diagnostics.items[0].message


def test_a_missing_module_causes_no_second_error(verify, write, tmp_path):
    write(other=OTHER)
    _, diagnostics = verify(
        """
        use othr                                         # error: unknown-module
        let a = one + double(SMALL.size)
        let b = 1 s + 1 m                                # error: unit-mismatch
        """,
        tmp_path,
    )
    assert diagnostics.items[0].help == "did you mean `other`?"


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("use std.chance", "it is called `std.distributions` now"),
        ("use models.calculon", "it is called `peers.calculon` now"),
        ("use std.distributions: far_tail", "it is called `normal_quantile_far_tail` now"),
        (
            "use std.distributions\nlet a = distributions.far_tail(1)",
            "it is called `normal_quantile_far_tail` now",
        ),
        ("use std.builtins\nlet a = builtins.log2(8)", "every file sees `log2` without a `use`"),
        ("use std.math\nlet a = math.log2(8)", "every file sees `log2` without a `use`"),
    ],
)
def test_an_unknown_name_of_a_module_is_explained(write, tmp_path, text, help):
    write(main=text)
    diagnostics = Diagnostics()
    check(load(tmp_path / "main.hw", diagnostics), diagnostics)
    assert [d.help for d in diagnostics.items if d.name != "missing-edition"] == [help]


def test_each_old_name_of_a_module_leads_to_one_that_there_is():
    lines = (library_root() / "renamed.tsv").read_text().splitlines()[1:]
    old = [line.split("\t")[2] for line in lines if line.startswith("module\t")]
    assert len(old) > 30
    for name in old:
        assert library_root().joinpath(*new_module(name).split(".")).with_suffix(".hw").is_file()


def test_errors_of_used_files_are_reported_there(verify, write, tmp_path):
    write(other="let a = 1 s + 1 m\n")
    diagnostics = Diagnostics()
    write(main="use other\nlet b = 1\n")
    check(load(tmp_path / "main.hw", diagnostics), diagnostics)
    assert [(d.name, d.span.source.name) for d in diagnostics.items] == [
        ("unit-mismatch", str(tmp_path / "other.hw"))
    ]


def test_tables_hold_base_units(verify, tmp_path):
    (tmp_path / "t.csv").write_text("name,size [GB],n\na,1.5,1\nb,2e3,2\n")
    checked, _ = verify(
        """
        use "t.csv" as t
        let a = sum(t.size) + 1 GB
        let b = t.name[0] == "a"
        let c = t.n[0] + 1
        let d = t.colour                                 # error: unknown-field
        """,
        tmp_path,
    )
    table = checked.main.values["t"]
    assert isinstance(table, TableInfo)
    assert table.columns["size"][1] == (1.5e9, 2e12)
    assert table.columns["name"][1] == ("a", "b")


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("a [GB]\nx\n", "bad-table"),
        ("a [furlong]\n1\n", "unknown-unit"),
        ("a [GB^x]\n1\n", "unknown-unit"),
        ("a [/^-]\n1\n", "unknown-unit"),
        ("a,b\n1\n", "unreadable-file"),
        ("", "unreadable-file"),
        ("a,a\n1,2\n", "bad-table"),
        ("a [s]\n1e999\n", "bad-table"),
        ("a [s]\n1_000/3\n", "bad-table"),
    ],
)
def test_bad_tables(verify, tmp_path, text, finding):
    (tmp_path / "t.csv").write_text(text)
    verify(f'use "t.csv" as t   # error: {finding}\nlet x = t.a\n', tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_only_regular_files_inside_the_program_are_read(verify, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "inner").mkdir()
    (tmp_path / "t.csv").write_text("a\n1\n")
    verify('use "pipe.csv" as t   # error: unreadable-file\n', tmp_path)
    verify('use "/dev/zero" as t  # error: unreadable-file\n', tmp_path)
    verify('use "../t.csv" as t   # error: unreadable-file\n', tmp_path / "inner")
    verify('use "absent.csv" as t # error: unreadable-file\n', tmp_path)
