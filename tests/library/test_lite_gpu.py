"""The study of Lite-GPU: against arithmetic, what must always hold, and what `check` finds."""

import math
from pathlib import Path

import pytest

import hwdsl
from hwdsl.api.evaluator import Module
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.elaborate import check_rules
from hwdsl.semantics import check, load

STUDY = Path(__file__).parents[2] / "library" / "studies" / "lite_gpu.hw"
MODELS = ["Llama3_70B", "GPT3", "Llama3_405B"]
HEAD = """edition 2026
use std.node: accelerator, node
use std.link: link
use std.package: package
use std.topology: star, switch, cable
use vendor.lite_gpu: Lite_domain, Lite_GPU, Lite_package, Lite_port, Lite_fibre, optical_switch
"""


@pytest.fixture(scope="module")
def study() -> Module:
    return hwdsl.load(STUDY, compiled=False)


def findings(text: str, folder: Path) -> list[tuple[str, str]]:
    path = folder / "case.hw"
    path.write_text(HEAD + text, encoding="utf-8")
    diagnostics = Diagnostics()
    program = check(load(path, diagnostics), diagnostics)
    # The head serves all texts: each reads some of what it imports.
    diagnostics.items[:] = [d for d in diagnostics.items if d.name != "unused-use"]
    assert not diagnostics.items
    check_rules(program, diagnostics)
    return [(item.name, item.message) for item in diagnostics.items]


def test_yields_by_hand(study: Module) -> None:
    defects = 8.14 * 0.1
    large, small = (1 - math.exp(-defects)) / defects, (1 - math.exp(-defects / 4)) / (defects / 4)
    found = study.die_and_package_cost(defect_density="0.1 cm^-2", yield_model="murphy")
    assert found["yield_ratio"] == pytest.approx((small / large) ** 2, rel=1e-12)


def test_decode_by_hand(study: Module) -> None:
    """The stages of a layer of Llama 3 70B, on as many ranks as the search took."""
    found = study.decode_search(gpu="Lite", model="Llama3_70B")
    layers, width, inside, kept = 80, 8192, 28672, 2048
    ranks, batch = int(found["tensor"]), int(found["batch_size"])
    rate, wire = 495e12 * 0.9995, 112.5e9
    summed = batch * width * 2 * (ranks - 1) / ranks / wire

    def gemm(n: float, k: float) -> float:
        moved = batch * k + k * n + 2 * batch * n
        return max(2 * batch * n * k / rate, moved / 838e9)

    attention = batch * (1500 * kept / ranks + 2 * 2 * width / ranks) / 838e9
    heads = (64 + 2 * 8) * 128 / ranks
    stages = [
        gemm(heads, width),
        attention,
        max(gemm(width, width / ranks), summed),
        max(gemm(2 * inside / ranks, width) + gemm(width, inside / ranks), summed),
    ]
    assert found["tpot"] == pytest.approx(1e3 * layers * sum(stages), rel=2e-3)


@pytest.mark.parametrize("model", MODELS)
def test_more_of_anything_is_not_slower(study: Module, model: str) -> None:
    rates = {
        gpu: study.decode_search(gpu=gpu, model=model)["tokens_per_second_per_sm"]
        for gpu in ("Lite_NetBW", "Lite", "Lite_MemBW", "Lite_MemBW_NetBW")
    }
    assert list(rates.values()) == sorted(rates.values())
    assert (
        study.decode_search(gpu="Lite", model=model, tpot_limit="25 ms")["tokens_per_second_per_sm"]
        <= rates["Lite"]
    )


@pytest.mark.parametrize("time_model", ["fully_overlapped", "serial"])
def test_at_the_price_that_breaks_even_tokens_cost_the_same(study: Module, time_model: str) -> None:
    light = study.token_cost(time_model=time_model)["break_even_optics_price"]
    assert light > 0
    assert study.token_cost(time_model=time_model, optics_price=light)[
        "cost_ratio"
    ] == pytest.approx(1, rel=1e-9)


def test_kernels_as_measured_turn_the_answer(study: Module) -> None:
    """At the peak quarter dies win on cost; with kernels as measured they lose if light is free."""
    assert study.token_cost(time_model="fully_overlapped")["break_even_optics_price"] > 0
    assert study.token_cost(time_model="kernel_model")["break_even_optics_price"] < 0


def test_any_cut_of_the_die_has_a_price(study: Module, tmp_path: Path) -> None:
    """A quarter as the study has it; an eighth costs less than half."""
    path = tmp_path / "cut.hw"
    path.write_text(
        """edition 2026
use studies.lite_gpu: Lite, Lite_MemBW, cost_model

evaluator cut {
    param pieces : int = 4 in 2 .. 16
    let piece = Lite_MemBW with { die_fraction_inverse = pieces, capacity = 20 GB * 4 / pieces }
    output package in USD/unit = cost_model().package_cost(piece)
    output alone in USD/unit = cost_model().package_cost(
        Lite with { die_fraction_inverse = 8, capacity = 10 GB },
    )
}
""",
        encoding="utf-8",
    )
    ask = hwdsl.load(path, compiled=False).cut
    assert 4 * ask()["package"] == pytest.approx(
        study.token_cost()["lite_packages_cost"], rel=1e-12
    )
    assert ask()["alone"] < ask()["package"] / 2
    assert ask(pieces=2)["package"] > ask(pieces=3)["package"] > ask()["package"]


def test_a_cluster_beyond_the_radix_is_found(tmp_path: Path) -> None:
    found = findings("node wide : Lite_domain { gpu.count = 64 }\n", tmp_path)
    assert found[0][0] == "switched.radix"
    assert "needs 64 ports on a switch; the radix of optical_switch is 56" in found[0][1]


def test_twice_the_light_does_not_fit_one_switch(tmp_path: Path) -> None:
    """A chip of 51.2 Tb/s has 28 ports of 1.8 Tb/s; 32 with twice the network need two."""
    text = """
cable fibre : Lite_fibre { bandwidth_per_direction = 1800 Gb/s }
switch fast : optical_switch { radix = 28, bandwidth_per_direction = 1800 Gb/s }
package wide_package : Lite_package {
    gpu.optics.lanes = 18
    gpu.optics.bandwidth_per_direction = 225 GB/s
}
accelerator twice : Lite_GPU {
    package = wide_package
    link fabric : Lite_port { lanes = 18 }
}
node wide : Lite_domain {
    scale_up = star(endpoints = gpu.count, PLANES, switch_part = fast, endpoint_cable = fibre)
    accelerator gpu[32] : twice
}
"""
    found = findings(text.replace("PLANES", "planes = 1"), tmp_path)
    assert found[0][0] == "switched.radix"
    assert "needs 32 ports on a switch; the radix of fast is 28" in found[0][1]
    split = text.replace("1800 Gb/s", "900 Gb/s").replace("radix = 28", "radix = 56")
    assert not findings(split.replace("PLANES", "planes = 2"), tmp_path)
