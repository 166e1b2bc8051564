"""Monte Carlo: draws follow their distributions, whatever the threads and the chunks."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hwdsl
from hwdsl.cli.main import main
from hwdsl.codegen.runtime.sample import CHUNK

TEXT = """edition 2026
use std.distributions
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
    assert drawn.std("bill") == pytest.approx(0.1 / 12**0.5, rel=0.01)
    assert drawn.feasible.mean() == pytest.approx(0.9563, abs=0.0025)  # log 2 / log 1.5 deviations
    assert drawn.clipped["price"] == pytest.approx(0.0437 + 0.0015, abs=0.0025)
    assert drawn.clipped["energy"] == 0.0
    assert drawn.units == {"rate": "USD/h", "bill": "USD/h"}


def test_what_matters_most_comes_first(module: hwdsl.Module) -> None:
    drawn = module.hour.sample(10_000)
    found = drawn.rank_correlation("rate")
    assert list(found) == ["price", "energy"]
    assert found["price"] > 0.98
    assert drawn.rank_correlation("bill") == {"energy": pytest.approx(1)}  # it reads no price


def test_a_seed_gives_the_same_draws_on_any_threads_and_a_longer_run_begins_alike(
    module: hwdsl.Module,
) -> None:
    first = module.hour.sample(2 * CHUNK + 1000, seed=7, threads=1)
    again = module.hour.sample(CHUNK + 10, seed=7, threads=4)
    assert (first.raw["rate"][: CHUNK + 10] == again.raw["rate"]).all()
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


def test_draws_that_are_no_number_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.hw"
    path.write_text(
        "edition 2026\nfn half(u: real, low: real) -> real = sqrt(u - low)\nevaluator odd {\n"
        "    param a : real = 1 in 0 .. 2 ~ half(0.5)\n    output b = a\n}\n"
    )
    with pytest.raises(ValueError, match=r"odd\.a: its distribution is NaN for some"):
        hwdsl.load(path, compiled=False).odd.sample(100)


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
    text = (
        f"edition 2026\nuse std.distributions\nevaluator e {{\n {param}\n output c : real = 1\n}}\n"
    )
    path.write_text(text)
    with pytest.raises(hwdsl.DescriptionError) as caught:
        hwdsl.load(path, compiled=False)
    assert name in {d.name for d in caught.value.diagnostics.items}


@pytest.fixture
def hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("hour.hw").write_text(TEXT)
    return "hour.hw:hour"


def test_the_command_prints_what_python_gives(
    module: hwdsl.Module, hour: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", hour, "-n", "20k", "--seed", "3", "life=2 year"]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    drawn = module.hour.sample(20_000, seed=3, life="2 year")
    cells = next(line for line in printed if line[:2] == ["rate", "[USD/h]"])[2:]
    expected = [drawn.mean("rate"), drawn.std("rate"),
                *drawn.quantile("rate", [0.05, 0.25, 0.5, 0.75, 0.95])]  # fmt: skip
    assert [float(cell) for cell in cells] == pytest.approx(expected, rel=1e-3)
    assert ["feasible:", f"{100 * drawn.feasible.mean():.6g}", "%"] in [x[:3] for x in printed]
    clipped = next(line for line in printed if line[:1] == ["price:"])
    assert " ".join(clipped[2:]) == (
        "% of the draws lay outside 15 .. 100 kUSD and were clipped to it"
    )
    assert float(clipped[1]) == pytest.approx(100 * drawn.clipped["price"], abs=0.01)
    (param, share), *_ = drawn.rank_correlation("rate").items()
    assert ["rate", param, f"{share:+.2f}"] in [line[:3] for line in printed]
    assert [x[1] for x in printed if x[:1] == ["bill"] and x[1:2] != ["[USD/h]"]] == ["energy"]


def test_the_command_reduces_draws_as_python_does(
    module: hwdsl.Module, hour: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--best", "min:rate", "--top", "2", "--counts", "--where", "energy >= 0.1 USD/kWh"]
    assert main(["sample", hour, "-n", "20k", "--seed", "3", *asked, "-o", "best.csv"]) == 0
    printed = capsys.readouterr().out
    drawn = module.hour.sample(20_000, seed=3, keep=True)
    fits = drawn.drawn["energy"] >= 0.1
    with open("best.csv", newline="") as file:
        rates = [float(row["rate [USD/h]"]) for row in csv.DictReader(file)]
    assert rates == np.sort(drawn["rate"][fits & drawn.feasible])[:2].tolist()
    count, good = np.count_nonzero(fits), np.count_nonzero(fits & drawn.feasible)
    assert f"{count:,} points, {good:,} feasible" in printed
    assert "  cheap: violated by " in printed


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_draws_are_written_beside_what_they_gave(
    module: hwdsl.Module, hour: str, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"draws.{ending}"
    if ending == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
    assert main(["sample", hour, "-n", str(CHUNK + 9), "-o", target]) == 0
    if ending == "csv":
        with open(target, newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = parquet.read_table(target).to_pylist()
    assert len(rows) == CHUNK + 9
    for i in (0, CHUNK - 1, CHUNK, CHUNK + 8):
        row = rows[i]
        energy, price = float(row["energy [USD/kWh]"]), float(row["price [kUSD]"])
        assert float(row["bill [USD/h]"]) == pytest.approx(energy)
        one = module.hour(price=price, energy=energy)
        assert float(row["rate [USD/h]"]) == pytest.approx(one.rate)
        assert str(row["feasible"]) == str(one.feasible)


def test_what_is_constant_deviates_by_nothing(module: hwdsl.Module) -> None:
    drawn = module.hour.sample(1000, energy=0.1)
    assert drawn.std("bill") == 0.0
    assert drawn.rank_correlation("bill") == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", "1.5"], "-n 1.5 is no number of draws"),
        (["-n", "nan"], "-n nan is no number of draws"),
        (["-n", "0"], "no number of draws"),
        (["--seed", "-1"], "a seed is not negative"),
        (["-o", "x.txt"], "ends in neither .csv nor .parquet"),
        (["price=20", "energy=0.1"], "no param left that is uncertain"),
        (["life=1,2"], "give single values"),
        (["--where", "feasible"], "--where goes with --best"),
        (["--best", "rat"], "did you mean `rate`?"),
        (["--counts", "--raw"], "--raw is about all outputs"),
    ],
)
def test_wrong_commands_are_2(
    hour: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", hour, *words]) == 2
    assert said in capsys.readouterr().err
    assert main(["sample", "hour.hw:sure"]) == 2
    assert "no param has a distribution" in capsys.readouterr().err


def test_a_compiled_module_draws_the_same_without_hwdsl(
    module: hwdsl.Module, hour: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", "hour.hw", "-o", "built"]) == 0
    assert "def sample(" in Path("built/hour.pyi").read_text()
    program = (
        "import sys; sys.modules['hwdsl'] = None; sys.modules['attrs'] = None\n"
        "import hour; drawn = hour.hour.sample(70_000, {'life': '2 year'}, seed=5)\n"
        "print(drawn['rate'].sum().hex(), drawn.rank_correlation('rate'), drawn.clipped)\n"
        "try: hour.sure.sample(10)\n"
        "except ValueError as error: print(error)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path / "built", capture_output=True, text=True
    )
    drawn = module.hour.sample(70_000, life="2 year", seed=5)
    assert answer.stdout.splitlines() == [
        f"{drawn['rate'].sum().hex()} {drawn.rank_correlation('rate')} {drawn.clipped}",
        "sure: no param has a distribution, as in `~ normal(…)`",
    ], answer.stderr


def test_samples_say_what_they_are(module: hwdsl.Module) -> None:
    text = repr(module.hour.sample(100))
    assert text.startswith("<100 samples of ")
    assert text.endswith(" feasible>")
    assert len(text) < 300
