"""A broken rule shows where the main file gives the fields that its condition reads."""

from pathlib import Path

import pytest

from hwdsl.api import driver
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source

KINDS = """edition 2026
kind block { size : area = 4 mm^2 }
kind chip {
    width  : length = 1 mm
    height : length
    spare  : real   = 1
    other  : real   = 1
    let area = width * height
    let half = area / 2
    block core
    require small: half <= 5 mm^2
        else "{name} is large"
    require filled: core.size <= area and [spare for k in 1 .. 2][0] < 9
        else "{name} is full"
    require three: spare + other + area / 1 mm^2 + width / 1 mm < 100
        else "{name} is too much"
}
"""


def labelled(text: str, rule: str) -> list[str]:
    """The lines of the fields that the finding of a rule shows."""
    diagnostics = Diagnostics()
    driver.check(Source("t.hw", f"{KINDS}{text}\n"), diagnostics)
    (found,) = [d for d in diagnostics.items if d.name == rule]
    return [x.span.text for x in found.labels if "given" in x.text]


@pytest.mark.parametrize(
    ("text", "rule", "shown"),
    [
        ("chip c {\n    height = 11 mm\n    block core\n}", "chip.small", ["11 mm"]),
        ("chip c {\n    height = 3 mm\n    width = 4 mm\n    block core\n}", "chip.small",
         ["4 mm", "3 mm"]),
        ("chip c {\n    height = 1 mm\n    block core\n}", "chip.filled", ["core", "1 mm"]),
        ("chip c {\n    height = 4 mm\n    block core\n    spare = 9\n}", "chip.filled",
         ["core", "9"]),
        ("chip c {\n    height = 4 mm\n    block core\n    spare = 90\n    other = 80\n}",
         "chip.three", ["90", "80"]),
        ("chip c {\n    height = 1 mm\n    block core { size = 1 mm^2 }\n}\n"
         "chip d : c { height = 12 mm }", "chip.small", ["12 mm"]),
    ],
)  # fmt: skip
def test_the_fields_that_broke_it(text: str, rule: str, shown: list[str]) -> None:
    assert labelled(text, rule) == shown


def test_what_another_file_gives_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "parts.hw").write_text(
        f"{KINDS}chip big {{\n    height = 1 mm\n    block core {{ size = 1 mm^2 }}\n}}\n"
    )
    main = tmp_path / "main.hw"
    main.write_text("edition 2026\nuse parts: big, chip\nchip c : big { width = 12 mm }\n")
    diagnostics = Diagnostics()
    driver.check(main, diagnostics)
    (found,) = diagnostics.items
    assert [x.span.text for x in found.labels if "given" in x.text] == ["12 mm"]
