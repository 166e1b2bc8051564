"""What an hour of one GPU costs, as a tree from the die to the energy, adds up at every level."""

from pathlib import Path

import pytest
import shipped

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.explain.explanation import BreakdownRow
from hwdsl.syntax import ast, parse

LIBRARY = Path(__file__).parents[2] / "library"
STUDY = LIBRARY / "studies" / "h100_cluster.hw"


@pytest.fixture(scope="module")
def rows() -> list[BreakdownRow]:
    study = shipped.loaded(STUDY).h100_cluster
    return study.why("cost_per_gpu_hour").breakdown(depth=12, least=1e-9)


def below(rows: list[BreakdownRow], at: int) -> list[BreakdownRow]:
    """The rows one level below the row `at`."""
    found = []
    for row in rows[at + 1 :]:
        if row.level <= rows[at].level:
            break
        if row.level == rows[at].level + 1:
            found.append(row)
    return found


def test_it_adds_up(rows: list[BreakdownRow]) -> None:
    sums = 0
    for at, row in enumerate(rows):
        parts = below(rows, at)
        if parts:
            sums += 1
            assert sum(p.value for p in parts) == pytest.approx(row.value, rel=1e-12), row
    assert sums >= 12
    leaves = [row for at, row in enumerate(rows) if not below(rows, at)]
    assert sum(row.share for row in leaves) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("die_defect_cost = 0.589 × raw_die_cost", ""),
        ("raw_substrate_cost", ""),
        ("memory_cost = 5 × hbm.price", ""),
        ("board_cost", ""),
        ("gpu_profit_after_nre", "8 ×"),
        ("gpu_nre", "8 ×"),
        ("gpu_cost", "8 ×"),
        ("accelerator_price", "128 ×"),
        ("network_price = 8 × nic.price", "128 ×"),
        ("chassis_price", "128 ×"),
        ("rail.endpoint_cable.price", "1,024 ×"),
        ("switch_cost = 48 × rail.switch_part.price", ""),
        ("colocation_depreciation", ""),
        ("energy_opex = 1.1 × 0.75 × it_power", "1/1,024 ×"),
    ],
)
def test_each_stage_has_a_line_with_its_multiplicity(
    rows: list[BreakdownRow], name: str, times: str
) -> None:
    assert (times, name) in {(r.times, r.name) for r in rows}


def test_what_is_kept_hides_no_part() -> None:
    """A dollar more for a stack, a wafer's worth or a board is a dollar more for the GPU."""
    study = shipped.loaded(STUDY).h100_cluster
    usual = study()
    # Of five stacks some are lost in assembly, with what is already bonded.
    dearer = study(hbm_stack_price=340)
    assert dearer.gpu_unit_price - usual.gpu_unit_price == pytest.approx(
        dearer.package_cost - usual.package_cost
    )
    assert 500 < dearer.gpu_unit_price - usual.gpu_unit_price < 600
    assert study(board_cost=2760).gpu_unit_price - usual.gpu_unit_price == pytest.approx(1000)
    nre = usual.package_cost_with_nre - usual.package_cost
    assert usual.gross_margin == pytest.approx(100 * (26_500 + nre) / usual.gpu_unit_price)
    # Half of the volume pays twice the share of NRE, in the price and in the hour.
    fewer = study(production_volume=1)
    assert fewer.gpu_unit_price - usual.gpu_unit_price == pytest.approx(nre)
    assert fewer.cost_per_gpu_hour > usual.cost_per_gpu_hour


def test_the_tree_that_is_printed_shows_the_die() -> None:
    """Rows too small for a line share one that names them."""
    shown = shipped.loaded(STUDY).h100_cluster.why("cost_per_gpu_hour").breakdown(6, 0.002)
    names = [row.name for row in shown]
    assert {"die_cost", "assembly_yield_loss", "board_cost", "colocation_depreciation"} <= set(
        names
    )
    assert "4 smaller: package_substrate_cost, raw_substrate_cost, microbump_cost, …" in names


CENTRES = {"triangular": 2, "lognormal": 1, "normal": 1}  # the argument, chance being the first


def test_distributions_are_centred_on_the_defaults() -> None:
    """The mode of a triangle, the median of the others: in every evaluator of the library."""
    centred = 0
    for path in sorted(LIBRARY.rglob("*.hw")):
        module = parse(Source(str(path), path.read_text(encoding="utf-8")), Diagnostics())
        for item in module.items:
            for param in getattr(item, "members", ()):
                if not isinstance(param, ast.Param) or param.distribution is None:
                    continue
                drawn, default = param.distribution, param.default
                assert isinstance(drawn, ast.Call)
                assert default is not None
                if drawn.function.span.text not in CENTRES:
                    continue  # even between two bounds
                centre = drawn.arguments[CENTRES[drawn.function.span.text]].value
                assert centre.span.text == default.span.text, f"{path.name}: {param.name.name}"
                centred += 1
    assert centred >= 15
