"""Power and energy: a limit slows what computes and what moves, and energy is what power draws."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.api.evaluator import Evaluator, Module

TEXT = """edition 2026
use std.cluster: cluster
use std.execution: operator_time, dynamic_energy, memory_bound_time
use std.inference: inference_server
use std.llm_training: llm_training_step
use std.link: link
use std.memory: memory
use std.node: accelerator, node, power_supply
use std.processor: cpu
use std.operators: matmul, elementwise
use std.parallelism: plan
use std.topology: star
use vendor.clusters: DGX_A100_pod
use vendor.links: NDR400, board_copper
use vendor.memories: DDR5_4800
use vendor.nodes: DGX_H100
use vendor.nvidia: H100_SXM_80GB
use vendor.switches: NVSwitch3
use workloads.transformers: Llama3_70B, Llama3_8B

cluster one_node { node nodes : DGX_H100 }

evaluator kernel {
    param limit : power = 700 W in 211 W .. 700 W
    param m : real = 4096 in 1 .. 65536
    param n : real = 4096 in 64 .. 65536
    param k : real = 4096 in 64 .. 65536
    let on = H100_SXM_80GB with {
        power_limit                            = limit
        kernel_efficiency.energy_per_flop      = 0.86 pJ/FLOP
        kernel_efficiency.min_gemm_latency     = 0 us
    }
    let product = matmul(m = m, n = n, k = k)
    output time   in s = operator_time(product, on)
    output energy in J = dynamic_energy(product, on)
}

evaluator copying {
    param limit : power = 700 W in 211 W .. 700 W
    let on = H100_SXM_80GB with { power_limit = limit }
    let one = elementwise(elements = 1e9)
    output time   in s = operator_time(one, on)
    output energy in J = dynamic_energy(one, on)
}

evaluator serving {
    param limit : power = 700 W in 1 W .. 700 W
    param pue   : real  = 1.1   in 1 .. 3
    param load  : real  = 0.5   in 0.0001 .. 1
    let machine = one_node with {
        nodes.gpu.power_limit = limit
        site.pue              = pue
    }
    let server = inference_server(
        model = Llama3_70B,
        cluster = machine,
        tensor = 8,
        input_length = 1000,
        output_length = 300,
    )
    let rate = load * server.max_request_rate
    output throughput in token/s = server.max_output_throughput
    output energy     in J/token = server.energy_per_token
    output facility   in J/token = server.facility_energy_per_token
    output power      in W       = server.accelerator_power / 8
    output at_load    in J/token = server.energy_per_token_at(rate)
    output power_at_load in W    = server.accelerator_power_at(rate) / 8
}

node of_parts {
    accelerator gpu[8] : H100_SXM_80GB { tdp = 700 W }
    link nic[8] : NDR400 { tdp = 25 W }
    cpu cpu[2] { cores = 56, tdp = 350 W }
    memory dimm[32] : DDR5_4800 { power = 12.5 W }
    power_supply psu[6] { rating = 3.3 kW }
    scale_up = star(
        endpoints = 8,
        planes = 4,
        links_per_plane = 4.5,
        switch_part = NVSwitch3 with { power = 0 W },
        endpoint_cable = board_copper with { energy_per_bit = 0 pJ/bit },
    )
}

evaluator at_the_wall {
    param efficiency : real  = 0.94   in 0.5 .. 1
    param pue        : real  = 1.1    in 1 .. 2
    param rating     : power = 3.3 kW in 1 kW .. 4 kW
    let it = of_parts with { psu.efficiency = efficiency, psu.rating = rating }
    output node   in W = it.power
    let two = one_node with {
        nodes         = it with { count = 2 }
        site.pue      = pue
        network_power = 0 W
    }
    output site   in W = two.facility_power
    output stated in W = (DGX_H100 with { psu.efficiency = efficiency }).power
}

evaluator racks {
    param other : power = 0 W in 0 W .. 3 kW
    let pod = DGX_A100_pod with { rack.other_power = other }
    output racks            = pod.racks
    output site   in kW     = pod.facility_power
    output energy in USD/h  = pod.energy_opex
    output rate   in USD/h  = pod.tco_rate
    output building in USD/h = pod.facility_depreciation
    output unsaid in kW     = DGX_A100_pod.facility_power
}

evaluator training {
    param limit : power = 700 W in 211 W .. 700 W
    let pod = DGX_A100_pod with { nodes = DGX_H100 with { count = 2 } }
    let step = llm_training_step(
        model = Llama3_8B,
        seq_length = 4096,
        plan = plan(tensor = 2, data = 8, global_batch = 64, sequence_parallel = true),
        cluster = pod with { nodes.gpu.power_limit = limit },
    )
    output time   in s       = step.step_time
    output energy in J/token = step.energy_per_token
    output power  in W       = step.average_power
    allow step.peak_memory "only its time and energy are asked"
    allow step.contention  "only its time and energy are asked"
}
"""
STATIC = 210  # W, 0.3 of the TDP of 700 W


@pytest.fixture(scope="module")
def serving(module: Module) -> Evaluator:
    return module.serving


def test_bytes_at_the_limit_by_hand(module: Module) -> None:
    """Two passes over 2 GB at 2.7 pJ/bit; 15 W beside the static power pay for 0.7 TB/s."""
    full, capped = module.copying(), module.copying(limit=STATIC + 15)
    assert full.energy == pytest.approx(4e9 * 8 * 2.7e-12)
    assert capped.energy == pytest.approx(full.energy)
    assert full.time == pytest.approx(3e-6 + 4e9 / (0.88 * 3.35e12))
    assert capped.time == pytest.approx(3e-6 + 4e9 / (0.88 * 15 / (8 * 2.7e-12)))


def test_a_long_gemm_draws_the_limit(module: Module) -> None:
    """Where the limit binds, energy over time is the limit; the clock is what makes it so."""
    for limit in (300, 450, 700):
        one = module.kernel(limit=limit, m=8192, n=8192, k=65536)
        assert STATIC + one.energy / one.time == pytest.approx(limit, rel=1e-3)


SIZES = st.sampled_from([64, 300, 1024, 5000, 16384])


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20000), SIZES, SIZES, st.floats(212, 700), st.floats(212, 700))
def test_a_lower_limit_never_speeds_up_and_is_never_exceeded(
    module: Module, m: int, n: int, k: int, a: float, b: float
) -> None:
    low, high = sorted((a, b))
    slow, fast = (module.kernel(limit=w, m=m, n=n, k=k) for w in (low, high))
    assert slow.time >= fast.time * (1 - 1e-12)
    for limit, one in ((low, slow), (high, fast)):
        assert STATIC + one.energy / one.time <= limit * (1 + 1e-6)
    # A lower clock and voltage never cost more for the operations themselves.
    assert slow.energy <= fast.energy * (1 + 1e-12)


def test_a_limit_saves_a_little_energy_then_costs_more(serving: Evaluator) -> None:
    """Llama 3 70B on eight H100: throughput falls with the limit all the way down."""
    limits = [700, 550, 450, 350, 280, 220]
    answers = [serving(limit=w) for w in limits]
    assert all(b.throughput < a.throughput for a, b in pairwise(answers[1:]))
    energies = [a.energy for a in answers]
    least = energies.index(min(energies))
    assert 0 < least < len(limits) - 1
    assert 0.85 * energies[0] < energies[least] < energies[0]
    assert energies[-1] > 1.5 * energies[0]


def test_a_limit_below_the_static_power_is_refused(serving: Evaluator) -> None:
    answer = serving(limit=1)
    assert not answer.feasible
    assert any("power_limit" in violation for violation in answer.violations)


def test_power_lies_between_static_and_limit(serving: Evaluator, module: Module) -> None:
    for limit in (300, 700):
        served, trained = serving(limit=limit), module.training(limit=limit)
        assert served.power == pytest.approx(served.energy * served.throughput / 8)
        assert STATIC < served.power <= limit
        assert STATIC < trained.power <= limit


def test_the_facility_draws_the_nodes_times_the_pue_once(serving: Evaluator) -> None:
    """DGX H100 of 10.2 kW: 4.6 kW beside the accelerators."""
    once, twice = serving(pue=1.1), serving(pue=2.2)
    assert twice.facility == pytest.approx(2 * once.facility)
    assert twice.energy == once.energy
    node = once.energy * once.throughput + 10200 - 8 * 700
    assert once.facility * once.throughput == pytest.approx(1.1 * node)


def test_power_supplies_lose_before_the_pue(module: Module) -> None:
    """Eight GPUs of 700 W, two hosts of 350 W, 600 W of memory and network, at the wall."""
    for efficiency in (0.9, 1):
        found = module.at_the_wall(efficiency=efficiency, pue=1.2)
        assert found.node == pytest.approx(6900 / efficiency)
        assert found.site == pytest.approx(1.2 * (2 * 6900 / efficiency))
    assert module.at_the_wall(efficiency=0.9, rating=1.151).feasible  # six deliver 6.906 kW
    assert not module.at_the_wall(efficiency=1, rating=1.149).feasible
    assert module.at_the_wall().stated == pytest.approx(10_200)  # of a data sheet, loss included


@settings(max_examples=15, deadline=None)
@given(st.floats(0.001, 1), st.floats(0.001, 1))
def test_a_token_costs_more_energy_below_capacity(
    serving: Evaluator, one: float, other: float
) -> None:
    low, high = (serving(load=w) for w in sorted((one, other)))
    assert low.at_load >= high.at_load * (1 - 1e-9)
    assert STATIC <= low.power_at_load <= 700


def test_half_of_the_load_takes_more_than_half_of_the_power(serving: Evaluator) -> None:
    full, half = serving(load=1), serving(load=0.5)
    assert full.power_at_load / 2 < half.power_at_load < full.power_at_load


def test_parts_are_rated_at_their_tdp(tmp_path: Path) -> None:
    """A part that inherits from another has a rating of its own."""
    vendor = Path(__file__).parents[2] / "library" / "vendor"
    names = []
    uses = ""
    for path in sorted(vendor.glob("*.hw")):
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [line.split()[1] for line in lines if line.startswith("accelerator ")]
        uses += "".join(f"use vendor.{path.stem}: {name}\n" for name in found)
        names += found
    assert len(names) > 50
    outputs = "".join(
        f"    output of_{n} = if known({n}.tdp) then {n}.rated_power / {n}.tdp else 1\n"
        for n in names
    )
    file = tmp_path / "ratings.hw"
    file.write_text(f"edition 2026\n{uses}evaluator ratings {{\n{outputs}}}\n", encoding="utf-8")
    result = hwdsl.load(file, compiled=False).ratings()
    assert {n: result[f"of_{n}"] for n in names} == dict.fromkeys(names, 1)


def test_what_else_is_in_a_rack_is_paid_once(module: Module) -> None:
    """96 racks of four nodes: 1 kW each, at a PUE of 1.1, and three quarters of it on average."""
    without, more = module.racks(), module.racks(other=1000)
    assert without.racks == 96
    assert without.site == pytest.approx(without.unsaid)
    assert more.site - without.site == pytest.approx(96 * 1.1)
    energy = 96 * 1.1 * 0.75 * 0.0771
    assert more.energy - without.energy == pytest.approx(energy, rel=1e-6)
    built = more.building / without.building
    assert built == pytest.approx(more.site / without.site)
    grown = energy + more.building - without.building
    assert more.rate - without.rate == pytest.approx(grown, rel=1e-6)
