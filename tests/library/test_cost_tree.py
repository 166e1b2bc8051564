"""What an hour of one GPU costs, as a tree from the die to the energy, adds up at every level."""

from pathlib import Path

import pytest

import hwdsl
from hwdsl.why import Row

STUDY = Path(__file__).parents[2] / "library" / "studies" / "h100_cluster.hw"


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    study = hwdsl.load(STUDY, compiled=False).h100_cluster
    return study.why("hour").breakdown(depth=12, least=1e-9)


def below(rows: list[Row], at: int) -> list[Row]:
    """The rows one level below the row `at`."""
    found = []
    for row in rows[at + 1 :]:
        if row.level <= rows[at].level:
            break
        if row.level == rows[at].level + 1:
            found.append(row)
    return found


def test_it_adds_up(rows: list[Row]) -> None:
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
        ("defect_cost = 0.589 × raw_cost", ""),
        ("carrier_cost", ""),
        ("memory_cost = 5 × hbm.price", ""),
        ("profit(made.cost, margin) = 0.92/0.08 × cost", "8 ×"),
        ("accelerator_price", "128 ×"),
        ("chassis_price", "128 ×"),
        ("rail.endpoint_cable.price", "1,024 ×"),
        ("switch_cost = 48 × rail.switch_part.price", ""),
        ("housing_rate", ""),
        ("energy_rate", "1/1,024 ×"),
    ],
)
def test_each_stage_has_a_line_with_its_multiplicity(
    rows: list[Row], name: str, times: str
) -> None:
    assert (times, name) in {(r.times, r.name) for r in rows}


def test_a_margin_does_not_hide_the_parts(rows: list[Row]) -> None:
    package = next(r for r in rows if r.name.endswith("H100_SXM.cost"))
    profit = next(r for r in rows if r.name.startswith("profit"))
    assert profit.value == pytest.approx(package.value * 0.92 / 0.08)
    assert sum(r.name.startswith("die_cost") for r in rows if r.level == package.level + 1) == 1
