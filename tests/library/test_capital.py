"""Cost of capital, NRE in a price, and energy of hours that are not used."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwdsl.api.evaluator import Module

TEXT = """edition 2026
use std.cluster: cluster
use std.economics: depreciation_method
use std.node: accelerator
use studies.h100_cluster: H100_1024
use vendor.clusters: DGX_A100_pod
use vendor.nvidia: H100_SXM_80GB
use vendor.memories: HBM2, HBM3, HBM3E
use vendor.packages: B200, H100_SXM, MI300X

evaluator hour {
    param interest : real = 8 % in 0 % .. 50 %
    param pue : real = 1.1 in 1 .. 3
    param used : real = 1 in 0.05 .. 1
    let it = H100_1024 with {
        ownership.interest_rate = interest / 1 year
        ownership.utilization   = used
        site.pue                = pue
    }
    output cost   in USD/h = it.tco_rate
    output energy in USD/h = it.energy_opex
    output stated in year^-1 = H100_1024.ownership.interest_rate
}

evaluator building {
    choice method : depreciation_method in [straight_line, annuity, exponential] = straight_line
    param interest : real = 8 % in 0 % .. 50 %
    let it = DGX_A100_pod with {
        ownership.depreciation_method = method
        ownership.interest_rate       = interest / 1 year
    }
    output rate  in USD/year = it.facility_depreciation
    output built in USD      = it.facility_capex
    output hour  in USD/h    = it.tco_rate - it.hardware_depreciation - it.energy_opex
}

evaluator custom {
    param volume : units = 10000 unit in 1000 unit .. 10_000_000 unit
    let part = accelerator(
        package = H100_SXM with { production_volume = volume, gpu.production_volume = volume },
        compute_units = 132,
        margin = 60 %,
    )
    output price in USD/unit = part.price
    output made  in USD/unit = H100_SXM.cost
    output nre   in USD      = H100_SXM.gpu.nre
}

evaluator memory_prices {
    output of_HBM2  in USD/unit/GB = HBM2.price / HBM2.capacity
    output of_HBM3  in USD/unit/GB = HBM3.price / HBM3.capacity
    output of_HBM3E in USD/unit/GB = HBM3E.price / HBM3E.capacity
    output larger = B200.cost / MI300X.cost
}
"""


def test_interest_is_in_the_default_ownership(module: Module) -> None:
    assert module.hour().stated == pytest.approx(0.08)


@settings(max_examples=20, deadline=None)
@given(st.floats(0, 0.5), st.floats(0, 0.5))
def test_the_hour_rises_with_the_cost_of_capital(module: Module, a: float, b: float) -> None:
    """Half of the price bears interest over four years."""
    low, high = sorted((100 * a, 100 * b))
    free, one, other = (module.hour(interest=r) for r in (0, low, high))
    assert other.cost - one.cost == pytest.approx(
        (free.cost - free.energy) * 2 * (high - low) / 100, abs=1e-6
    )


@pytest.mark.parametrize(
    ("method", "owed"),
    [
        ("straight_line", 1 + 0.08 * 20 / 2),  # half of it on average, over 20 years
        ("annuity", 0.08 * 20 / (1 - math.exp(-0.08 * 20))),
        ("exponential", 1 + 0.08 * 20 / 2),  # buildings follow no trend of machines
    ],
)
def test_the_building_bears_interest(module: Module, method: str, owed: float) -> None:
    found = module.building(method=method)
    assert found.rate * 20 == pytest.approx(found.built * owed)
    assert found.hour * 8766 == pytest.approx(found.rate)
    if method != "annuity":
        free = module.building(method=method, interest=0)
        assert free.rate * 20 == pytest.approx(free.built)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 1), st.floats(1, 1.5))
def test_energy_follows_the_use(module: Module, used: float, pue: float) -> None:
    full, part = module.hour(pue=pue), module.hour(used=used, pue=pue)
    assert used * full.energy <= part.energy * (1 + 1e-9)
    assert part.energy <= full.energy * (1 + 1e-9)
    assert module.hour(used=used, pue=2 * pue).energy == pytest.approx(2 * part.energy)


def test_nre_over_the_volume_is_in_the_price(module: Module) -> None:
    few, many = module.custom(volume=10_000), module.custom(volume=10_000_000)
    # Design and masks of the die alone; the substrate's add to it.
    assert few.price * 0.4 > few.made + few.nre / 1e4
    assert many.price * 0.4 == pytest.approx(many.made + many.nre / 1e7, rel=0.01)
    assert few.price > 20 * many.price


def test_memory_of_later_generations_costs_more_at_one_date(module: Module) -> None:
    """11.5 USD/GB of 2026 in prices of 2023, by the fall of DDR5 from 2.4 to 1.75 USD/GB."""
    prices = module.memory_prices()
    assert prices.of_HBM2 < prices.of_HBM3 < prices.of_HBM3E
    assert prices.of_HBM3E == pytest.approx(11.5 * 2.4 / 1.75)
    # 192 GB of HBM3E and two dies at the reticle's limit, against 192 GB of HBM3.
    assert prices.larger > 1
