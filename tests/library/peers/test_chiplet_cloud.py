"""Chip, package, server, speed and cost per token against reallm's own numbers.

For each of its files of hardware a description is written as a user would, with all constants from
the reference file. Compared: every number of chip, package, memory, server and performance, but for
the width of the multiplier array, the heat source, and restatements in other units. Two things are
taken from the case: the dies of a wafer, which theirs places by a search (ours is compared apart),
and the price of a heat sink, which their thermal search sets and only the server's price shows.
"""

from pathlib import Path
from typing import Any

import pytest
from reallm import asked, hardware, heat_sink, outputs, point
from reference import agree, cases, model

CASES = cases("reallm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("machines")


def flat(nested: dict[str, Any]) -> dict[str, float]:
    """Numbers of a tree, named by their way down."""
    found: dict[str, float] = {}
    for key, value in nested.items():
        if isinstance(value, dict):
            found |= {f"{key}__{k}": v for k, v in flat(value).items()}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[key] = value
    return found


def expected(case: dict[str, Any]) -> dict[str, float]:
    groups = {"chip": case["chip"], "package": case["package"], "server": case["server"]}
    groups |= {"hbm": case["hbm"] or {}, "tdp": case["server_tco_at_tdp"]}
    perf = dict(case["perf"])
    groups |= {"use": perf.pop("srv_tco"), "perf": perf}
    return flat(groups)


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_theirs(case: dict[str, Any], folder: Path) -> None:
    result = asked(case, folder)(**point(case))
    assert not result.violations
    theirs = expected(case)
    ours = {name: getattr(result, name) for name, _ in outputs() if name in theirs}
    missing = {n for n, _ in outputs() if n not in theirs} - {"count__dies"}
    assert all(n.startswith(("token__", "hbm__")) for n in missing), missing
    agree(ours, {name: theirs[name] for name in ours})


@pytest.mark.parametrize("case", CASES)
def test_cost_of_a_token(case: dict[str, Any], folder: Path) -> None:
    ask = asked(case, folder)
    right, shipped = ask(**point(case)), ask(**point(case), as_published=True)
    agree(
        {"right": right.token__cost, "shipped": shipped.token__cost},
        {
            "right": case["generate_tco_per_token_corrected_single_batch_division"],
            "shipped": case["perf"]["generate_tco_per_token"],
        },
    )
    prompts = case["inputs"]["generate_len"] / case["inputs"]["prefill_len"]
    agree(
        {"first": shipped.token__cost * prompts, "same": shipped.token__cost},
        {"first": case["perf"]["prefill_tco_per_token"], "same": case["perf"]["tco_per_token"]},
    )


@pytest.mark.parametrize("case", CASES)
def test_what_servers_cost_is_what_tokens_cost(case: dict[str, Any], folder: Path) -> None:
    """At any batch, and only without the second division."""
    ask, at = asked(case, folder), point(case)
    for batch in (1, 2, 16, 64, 1024):
        given = at | {"batch": batch, "micro": min(batch, 8), "first_micro": 1}
        one = ask(**given)
        assert one.token__cost * one.token__rate == pytest.approx(one.token__paid, rel=1e-12)
        off = ask(**given, as_published=True)
        paid = off.token__cost * off.token__rate
        assert paid == pytest.approx(off.token__paid / batch, rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_dies_are_counted_but_not_packed(case: dict[str, Any], folder: Path) -> None:
    """Rows centred on the wafer: theirs holds as many, or up to 4 % more, never fewer."""
    ours, theirs = asked(case, folder)().raw.count__dies, case["chip"]["dpw"]
    assert ours <= theirs <= 1.04 * ours


def test_a_larger_batch_shares_the_weights() -> None:
    serving = model("chiplet_cloud").serving
    costs = [serving(batch=n, micro=n).per_token for n in (1, 4, 16, 64)]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("case", CASES)
def test_the_example_is_theirs(case: dict[str, Any]) -> None:
    """The library's own server, models and defaults, where a case is about them."""
    at, name = point(case), hardware(case)["Name"]
    if name != "hw_example" or at["micro"] != at.pop("first_micro"):
        pytest.skip("not about the library's example")
    label = next(k for k in ("gpt3", "llama3_70B") if k == name_of(case))
    run = model("chiplet_cloud").serving(
        **at, model=label, heat_sink=f"{heat_sink(case)!r} USD", as_published=True
    )
    perf = case["perf"]
    latency = perf["prefill_latency"] + perf["generate_latency"]
    agree(
        {"server": run.server, "power": run.power, "latency": run.latency, "cost": run.per_token},
        {
            "server": case["server"]["cost"],
            "power": perf["srv_tco"]["server_tdp"],
            "latency": latency,
            "cost": perf["generate_tco_per_token"],
        },
    )


def name_of(case: dict[str, Any]) -> str:
    """The library's name of a case's model."""
    return str(case["inputs"]["model"]["name"]).replace("-", "_")
