"""Each rule of std: one composition breaks it, its neighbour does not.

The broken text must give that rule before anything else, and say what stands in the case; the sound
text must give nothing at all. That the rest of the library is silent is tested with its files.
"""

import tomllib
from pathlib import Path

import attrs
import pytest

from hwdsl.base.diagnostics import Diagnostic, Diagnostics
from hwdsl.base.render import render_text
from hwdsl.elaborate import check_rules
from hwdsl.help import rule_docs
from hwdsl.semantics import check, load

ROOT = Path(__file__).parents[2]
# The modules whose rules each book of examples covers; those of std that are in none have no rules.
BOOKS = {
    "package": "process die d2d memory address_map package",
    "system": "link topology node processor rack cluster datacenter economics reliability "
    "accelerator_slice pcie_tree",
    "memory": "number_formats processing_in_memory",
    "model": "overlap parallelism placement collectives link_graph communicator compression "
    "training llm_training activation_memory stage_layout core_fabric decode_server gpt_model "
    "inference locality kernel_efficiency convolution math heterogeneous_pipeline peer_pool "
    "traffic fused_overlap operators wide_area fine_tuning queueing closed_networks "
    "statistical_efficiency replicas model_averaging concurrent_kernels contention dataflow "
    "loop_nest marked_graph task_graph prefix_cache",
}


@attrs.frozen
class Case:
    """`text` holds the hole of the rulebook, which `broken` or `sound` replaces."""

    head: str
    number: int
    rule: str
    text: str
    broken: str
    sound: str
    says: str

    def __str__(self) -> str:
        return f"{self.number}-{self.rule}"


def cases(book: str) -> list[Case]:
    path = ROOT / "library" / "std" / f"rules_{book}.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    texts = data["templates"]
    return [
        Case(**(row | {"head": data["head"], "text": texts.get(row["text"], row["text"])}))
        for row in data["case"]
    ]


CASES = {book: cases(book) for book in BOOKS}
ALL = [case for found in CASES.values() for case in found]
RULES = list(rule_docs.rules())


def findings(text: str, folder: Path) -> tuple[Diagnostic, ...]:
    path = folder / "case.hw"
    path.write_text(text + "\n", encoding="utf-8")
    diagnostics = Diagnostics()
    program = check(load(path, diagnostics), diagnostics)
    # The head of a book serves all its cases: each reads some of what it imports.
    diagnostics.items[:] = [d for d in diagnostics.items if d.name != "unused-use"]
    if not diagnostics.items:
        check_rules(program, diagnostics)
    return tuple(diagnostics.items)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_broken_composition_gives_its_rule_first(case: Case, tmp_path: Path) -> None:
    text = case.head + case.text.replace(rule_docs.HOLE, case.broken)
    found = findings(text, tmp_path)
    assert found, "nothing was found"
    assert found[0].name == case.rule, render_text(found)
    assert case.says in found[0].message, found[0].message


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_sound_composition_gives_nothing(case: Case, tmp_path: Path) -> None:
    found = findings(case.head + case.text.replace(rule_docs.HOLE, case.sound), tmp_path)
    assert not found, render_text(found)


def test_every_module_with_rules_is_in_a_book() -> None:
    covered = {f"std/{name}.hw" for names in BOOKS.values() for name in names.split()}
    asked = {rule.file for rule in RULES if rule.file.startswith("std/")}
    assert not asked - covered
    books = {path.name for path in (ROOT / "library" / "std").glob("*.toml")}
    assert books == {f"rules_{book}.toml" for book in BOOKS}


@pytest.mark.parametrize(
    ("book", "least"), [("package", 70), ("system", 50), ("model", 30), ("memory", 14)]
)
def test_every_rule_has_a_case(book: str, least: int) -> None:
    files = {f"std/{name}.hw" for name in BOOKS[book].split()}
    declared = {rule.name for rule in RULES if rule.file in files}
    assert len(declared) >= least
    told = {case.rule for case in CASES[book]}
    assert declared <= told
    # What else is told is the language's own: a dimension, a field that is missing.
    assert not [name for name in told - declared if "." in name]


def test_the_table_of_rules_names_every_rule() -> None:
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for case in ALL:
        assert any(
            row.startswith(f"| {case.number} |") and f"`{case.rule}`" in row for row in rows
        ), f"{case} is not in the table"


def test_air_cools_what_is_sold_with_air(tmp_path: Path) -> None:
    """Gaudi 3 as OAM module, 900 W, is sold for air."""
    part = (
        CASES["system"][0].head
        + """use vendor.accelerators: Gaudi3
node tray { power = 2 kW, scale_up_domain = 1, accelerator gpu : Gaudi3, link nic : NDR400 }
rack r { node = tray, nodes = 4, height = 42 U, cooling = COOL, price = 0 USD/unit }
"""
    )
    names = [f.name for f in findings(part.replace("COOL", "air"), tmp_path)]
    assert "rack.device_power" not in names
    weak = part.replace("COOL", "air with { max_device_power = 800 W }")
    assert "rack.device_power" in [f.name for f in findings(weak, tmp_path)]
