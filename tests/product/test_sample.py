"""Monte Carlo: draws follow their distributions, whatever the threads and the chunks."""

from pathlib import Path

import numpy as np
import pytest

import hwdsl
from hwdsl.sample import CHUNK

TEXT = """edition 2026
use std.chance
evaluator hour {
    param price : money = 30 kUSD in 15 kUSD .. 100 kUSD ~ lognormal(30 kUSD, 1.5)
    param energy : energy_price = 0.08 USD/kWh ~ uniform(0.05 USD/kWh, 0.15 USD/kWh)
    param life : time = 4 year in 1 year .. 10 year
    output rate in USD/h = price / life + 1 kW * energy
    output bill in USD/h = 1 kW * energy
    require cheap: price <= 60 kUSD else "{price} is dear"
}
evaluator sure {
    param a : real = 1
    output b : real = a
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Module:
    path: Path = tmp_path_factory.mktemp("sample") / "hour.hw"
    path.write_text(TEXT)
    return hwdsl.load(path, compiled=False)


def test_draws_follow_their_distributions(module: hwdsl.Module) -> None:
    drawn = module.hour.sample(200_000, seed=3)
    assert len(drawn) == 200_000
    # 200,000 draws: five standard errors of a quantile, of a mean and of a share
    shares = [0.1, 0.5, 0.9]
    assert np.allclose(drawn.quantile("bill", shares), [0.06, 0.1, 0.14], atol=0.0006)
    assert drawn.mean("bill") == pytest.approx(0.1, abs=0.0004)
    assert drawn.deviation("bill") == pytest.approx(0.1 / 12**0.5, rel=0.01)
    assert drawn.feasible.mean() == pytest.approx(0.9563, abs=0.0025)  # log 2 / log 1.5 deviations
    assert drawn.clipped["price"] == pytest.approx(0.0437 + 0.0015, abs=0.0025)
    assert drawn.clipped["energy"] == 0.0
    assert drawn.units == {"rate": "USD/h", "bill": "USD/h"}


def test_what_matters_most_comes_first(module: hwdsl.Module) -> None:
    drawn = module.hour.sample(10_000)
    found = drawn.rank_correlation("rate")
    assert list(found) == ["price", "energy"]
    assert found["price"] > 0.98
    assert drawn.rank_correlation("bill")["energy"] == pytest.approx(1)
    assert abs(drawn.rank_correlation("bill")["price"]) < 0.05


def test_a_seed_gives_the_same_draws_on_any_threads_and_a_longer_run_begins_alike(
    module: hwdsl.Module,
) -> None:
    first = module.hour.sample(2 * CHUNK + 1000, seed=7, threads=1)
    again = module.hour.sample(CHUNK + 10, seed=7, threads=4)
    assert (first["rate"][: CHUNK + 10] == again["rate"]).all()
    assert (module.hour.sample(100, seed=8)["rate"] != again["rate"][:100]).all()


def test_a_given_param_is_not_drawn(module: hwdsl.Module) -> None:
    drawn = module.hour.sample(1000, price="20 kUSD", life="2 year")
    assert list(drawn.clipped) == ["energy"]
    assert drawn["rate"].min() >= 20_000 / (2 * 365.25 * 24) + 0.05
    single = module.hour(price="20 kUSD", life="2 year", energy=drawn.drawn["energy"][5])
    assert single.rate == drawn["rate"][5]


def test_wrong_calls_say_what_is_wrong(module: hwdsl.Module) -> None:
    with pytest.raises(ValueError, match="no param has a distribution"):
        module.sure.sample(10)
    with pytest.raises(ValueError, match="at least one"):
        module.hour.sample(0)
    with pytest.raises(ValueError, match="no param left that is uncertain"):
        module.hour.sample(10, price=20, energy=0.1)
    with pytest.raises(ValueError, match="single values"):
        module.hour.sample(10, life=[1, 2])
    with pytest.raises(KeyError, match="no output cost; there are rate, bill"):
        module.hour.sample(10)["cost"]


@pytest.mark.parametrize(
    ("param", "name"),
    [
        ("param a : money = 1 USD ~ normal(1 s, 1 s)", "unit-mismatch"),
        ("param a : money = 1 USD ~ 3 USD", "type-mismatch"),
        ("param a : int = 1 ~ normal(1, 1)", "type-mismatch"),
        ("param b : money = 1 USD\n param a : money = 1 USD ~ normal(b, 1 USD)", "unknown-name"),
        ("param a : money = 1 USD ~ norml(1 USD, 1 USD)", "unknown-function"),
    ],
)
def test_wrong_distributions_are_found_by_check(tmp_path: Path, param: str, name: str) -> None:
    path = tmp_path / "a.hw"
    text = f"edition 2026\nuse std.chance\nevaluator e {{\n {param}\n output c : real = 1\n}}\n"
    path.write_text(text)
    with pytest.raises(hwdsl.DescriptionError) as caught:
        hwdsl.load(path, compiled=False)
    assert name in {d.name for d in caught.value.diagnostics.items}
