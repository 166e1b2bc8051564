"""Literate tests: text with `# error: name` comments on the lines where findings must stand."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.semantics import check, load
from hwdsl.semantics.symbols import Checked

Verify = Callable[..., tuple[Checked, Diagnostics]]
MARKS = ("# error: ", "# warning: ")


def run(text: str, folder: Path | None = None) -> tuple[Checked, Diagnostics]:
    """Load and check a text as if it were a file."""
    name = str((folder or Path("nowhere")) / "main.hw")
    diagnostics = Diagnostics()
    modules = load(Source(name, "edition 2026\n" + text), diagnostics)
    return check(modules, diagnostics), diagnostics


def expected(text: str) -> Counter[tuple[int, str]]:
    """The findings that a text's comments announce: line and name."""
    found: Counter[tuple[int, str]] = Counter()
    for number, line in enumerate(text.splitlines(), start=2):
        for mark in MARKS:
            _, found_mark, rest = line.partition(mark)
            for name in rest.split(",") if found_mark else ():
                found[number, name.strip()] += 1
    return found


def verify(text: str, folder: Path | None = None) -> tuple[Checked, Diagnostics]:
    """Check that a text has exactly the findings its comments announce."""
    checked, diagnostics = run(text, folder)
    actual: Counter[tuple[int, str]] = Counter()
    for item in diagnostics.items:
        assert item.span is not None
        actual[item.span.source.position(item.span.start)[0], item.name] += 1
    told = "\n".join(f"{i.span} {i.name}: {i.message}" for i in diagnostics.items)
    assert actual == expected(text), told
    return checked, diagnostics


@pytest.fixture(name="verify")
def _verify() -> Verify:
    """The helper, as a fixture: test folders are no packages."""
    return verify


VOCABULARY = """
enum law { poisson, murphy }
kind memory {
    bandwidth : data / time
    capacity  : data = 16 GB
    kind_of   : law = poisson
    let drain = capacity / bandwidth
    fn moving(size: data) -> time = size / bandwidth
    require fast: bandwidth > 0 GB/s else "{name} has {bandwidth in GB/s}"
}
kind link {
    from : ref memory
}
kind chip {
    memory hbm[4] : HBM { capacity = 24 GB }
    area : length^2 = 800 mm^2
    let total = hbm.bandwidth * hbm.count
}
memory HBM { bandwidth = 800 GB/s }
chip A { }
"""


@pytest.fixture
def vocabulary() -> str:
    """Declarations that texts of findings begin with."""
    return VOCABULARY
