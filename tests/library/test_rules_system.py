"""Each rule of links, networks, accelerators, nodes, racks, clusters, sites, money: one composition
breaks it, its neighbour does not.

The broken text must give that rule before anything else, and say what stands in the case; the sound
text must give nothing at all. That the rest of the library is silent is tested with its files.
"""

import tomllib
from pathlib import Path

import attrs
import pytest

from hwdsl.diagnostics import Diagnostic, Diagnostics
from hwdsl.elaborate import check_rules
from hwdsl.render import render_text
from hwdsl.semantics import check, load
from hwdsl.source import Source
from hwdsl.syntax import ast, parse

ROOT = Path(__file__).parents[2]
FILES = [
    ROOT / "library" / "std" / f"{name}.hw"
    for name in (
        "link",
        "topology",
        "node",
        "rack",
        "cluster",
        "facility",
        "economics",
        "reliability",
    )
]
DATA = tomllib.loads((ROOT / "library/std/rules_system.toml").read_text(encoding="utf-8"))
HEAD = DATA["head"]


@attrs.frozen
class Case:
    """`text` holds HERE, which `broken` or `sound` replaces."""

    number: int
    rule: str
    text: str
    broken: str
    sound: str
    says: str

    def __str__(self) -> str:
        return f"{self.number}-{self.rule}"


CASES = [
    Case(**(row | {"text": DATA["templates"].get(row["text"], row["text"])}))
    for row in DATA["case"]
]


def findings(text: str, folder: Path) -> tuple[Diagnostic, ...]:
    path = folder / "case.hw"
    path.write_text(HEAD + text + "\n", encoding="utf-8")
    diagnostics = Diagnostics()
    program = check(load(path, diagnostics), diagnostics)
    if not diagnostics.items:
        check_rules(program, diagnostics)
    return tuple(diagnostics.items)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_broken_composition_gives_its_rule_first(case: Case, tmp_path: Path) -> None:
    found = findings(case.text.replace("HERE", case.broken), tmp_path)
    assert found, "nothing was found"
    assert found[0].name == case.rule, render_text(found)
    assert case.says in found[0].message, found[0].message


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_sound_composition_gives_nothing(case: Case, tmp_path: Path) -> None:
    found = findings(case.text.replace("HERE", case.sound), tmp_path)
    assert not found, render_text(found)


def rules_of(path: Path) -> list[str]:
    diagnostics = Diagnostics()
    module = parse(Source(path.name, path.read_text(encoding="utf-8")), diagnostics)
    assert not diagnostics.items
    return [
        f"{item.name.name}.{member.name.name}"
        for item in module.items
        if isinstance(item, ast.Kind)
        for member in item.members
        if isinstance(member, ast.Rule)
    ]


def test_every_rule_has_a_case() -> None:
    declared = {rule for path in FILES for rule in rules_of(path)}
    assert len(declared) >= 50
    assert declared == {case.rule for case in CASES}


def test_the_table_of_rules_names_every_rule() -> None:
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for case in CASES:
        assert any(
            row.startswith(f"| {case.number} |") and f"`{case.rule}`" in row for row in rows
        ), f"{case} is not in the table"


def test_air_cools_what_is_sold_with_air(tmp_path: Path) -> None:
    """Gaudi 3 as OAM module, 900 W, is sold for air."""
    part = """use vendor.accelerators: Gaudi3
node tray { power = 2 kW, domain = 1, accelerator gpu : Gaudi3, link nic : NDR400 }
rack r { holds = tray, nodes = 4, height = 42 U, cooling = COOL, price = 0 USD/unit }
"""
    names = [f.name for f in findings(part.replace("COOL", "air"), tmp_path)]
    assert "rack.device" not in names
    weak = part.replace("COOL", "air with { max_device_power = 800 W }")
    assert "rack.device" in [f.name for f in findings(weak, tmp_path)]
