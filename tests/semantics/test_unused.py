"""What nothing reads is warned of, and what others may read is not; waivers take warnings back."""

from pathlib import Path

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.semantics.checker import check
from hwdsl.semantics.modules import load

OTHER = """edition 2026
dimension luck
unit lot : luck prefix k
let one = 1
let two = 2
enum law { hooke, ohm }
kind box { size : real = 1, law : law = hooke }
fn twice(x: real) -> real = 2 * x
reference smith : paper 2020 "Smith, Links, 2020"
"""


def found(folder: Path, text: str) -> list[tuple[str, str]]:
    """What is said of a file beside `other.hw` and `t.csv`: names and the texts they stand at."""
    (folder / "other.hw").write_text(OTHER)
    (folder / "t.csv").write_text("time [s]\n1\n2\n")
    (folder / "main.hw").write_text(f"edition 2026\n{text}\n")
    diagnostics = Diagnostics()
    check(load(folder / "main.hw", diagnostics), diagnostics)
    return [(d.name, d.span.text if d.span else "") for d in diagnostics.items]


def within(*lets: str) -> str:
    """An evaluator with lines of its own."""
    lines = "\n    ".join(lets)
    return f"evaluator e {{\n    param x : int = 1 in 1 .. 9\n    {lines}\n    output o = x\n}}"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("use other", "use other"),
        ("use other as o\nlet a = 1", "use other as o"),
        ("use other: one, two\nlet a = one", "two"),
        ("use other: one, smith\nlet a = one", "smith"),
        ("use other: one, two", "use other: one, two"),
        ("use other: box\nlet box_size = 3", "use other: box"),
        ("use other: one\nkind k {\n    one : int = 1\n    let a = self.one\n}", "use other: one"),
        ('use "t.csv" as t', 'use "t.csv" as t'),
        (within("let y = 2 * x"), "y"),
        (within("let y = x, let z = [k for k in 1 .. 3]").replace(", let", "\n    let"), "y z"),
        ("fn f(x: real) -> real {\n    let y = x\n    x\n}", "y"),
        ("use other: box\nbox b {\n    let y = 2\n    size = 3\n}", "y"),
        ("let a = iterate k in 1 .. 3 {\n    state s : real = 1\n    let y = s\n    next s = s\n}",
         "y"),
        ("claim c {\n    let y = 1\n    expect 1 == 1\n}", "y"),
        ("let _a = 1", "_a"),
        ("fn _f(x: real) -> real = x", "_f"),
        ("unit _lot = 2 s prefix k", "_lot"),
    ],
)  # fmt: skip
def test_what_nothing_reads(tmp_path: Path, text: str, at: str) -> None:
    names = [at] if at.startswith("use") else at.split()
    said = found(tmp_path, text)
    assert [place for _, place in said] == names
    assert {name for name, _ in said} <= {"unused-use", "unused-let", "unused-private"}


@pytest.mark.parametrize(
    "text",
    [
        "use other\nlet a = one",
        "use other\nlet a = 2 klot",
        "use other: lot\nlet a = 2 klot",
        "use other as o\nlet a = o.one",
        "use other: twice\nlet a = twice(1)",
        "use other: smith\nlet a = 2 source smith",
        "use other\nkind k {\n    source (smith, 'a book')\n    a : real = 1\n}".replace("'", '"'),
        "use other: law\nfn f(by: law) -> real = match by { hooke => 1, ohm => 2 }",
        "use other: law\nlet a = law.ohm",
        "use other: box\nkind big : box { let a = len(parts.box) }",
        "use other: box\nfn f(b: box) -> [real] = [b.size]",
        'use "t.csv" as t\nlet a = sum(t.time)',
        "let public = 1",
        "let _a = 1\nlet b = _a",
        "kind k {\n    a : real\n    let b = 2 * a\n}",
        within("let y = 2 * x", 'require small: x < 9 else "{y} is large"'),
        within("let y = 2 * x", "let z = y", "output p = z"),
        "use other: box\n" + within("let b = box(size = x)"),
        "use other: nothing\nuse other",
        within("let y = 2 * x", "let z = nobody"),
    ],
)
def test_what_is_read_or_may_be(tmp_path: Path, text: str) -> None:
    assert not [name for name, _ in found(tmp_path, text) if name.startswith("unused")]


@pytest.mark.parametrize(
    ("waiver", "left"),
    [
        ('allow unused_let "later"', ["unused-use"]),
        ('allow unused_use "later"', ["unused-let"]),
        ('allow unused_private "later"', ["unused-use", "unused-let"]),
        ('allow unusd_let "later"', ["unknown-rule", "unused-use", "unused-let"]),
    ],
)
def test_a_waiver_of_the_file(tmp_path: Path, waiver: str, left: list[str]) -> None:
    text = f"{waiver}\nuse other\n{within('let y = x')}"
    assert sorted(name for name, _ in found(tmp_path, text)) == sorted(left)


def test_a_waiver_of_a_block_is_about_that_block(tmp_path: Path) -> None:
    one, two = within("let y = x", 'allow unused_let "later"'), within("let z = x")
    said = found(tmp_path, f"{one}\n{two.replace('evaluator e', 'evaluator f')}")
    assert said == [("unused-let", "z")]


BOX = """kind chip {
    memory : data = 1 GB
    stacks : int = 1
    price  : data = 3 GB
    let grown = memory * stacks
    fn cut(n: int) -> int = n
}
chip c { }
evaluator e {
    param stacks : int = 2 in 1 .. 9
    param price  : int = 2 in 1 .. 9
    param cut    : int = 2 in 1 .. 9
    let a = HERE
    output o = price * cut * stacks * len([a])
}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("c with { memory = stacks * 1 GB, price = stacks * 1 GB }", ["stacks"]),
        ("[c with { memory = stacks * 1 GB }, c with { memory = stacks * 1 GB }][0]", ["stacks"]),
        ("c with { stacks = stacks, memory = stacks * 1 GB }", []),
        ("c with { stacks = stacks }", []),
        ("c with { memory = price * 1 GB }", []),  # the member is no int
        ("c with { memory = cut * 1 GB }", []),  # the member is a function
    ],
)
def test_a_member_that_might_be_meant(tmp_path: Path, text: str, said: list[str]) -> None:
    names = found(tmp_path, BOX.replace("HERE", text))
    assert names == [("shadows-member", place) for place in said]
    waived = BOX.replace("HERE", text).replace(
        "{\n    param", '{\n    allow shadows_member "so"\n    param', 1
    )
    assert found(tmp_path, waived) == []
