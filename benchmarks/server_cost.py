"""Speed of a cost model from the wafer to the cost of a token: die, package, node, decode, TCO.

    python benchmarks/server_cost.py [--quick]

Two descriptions. The first uses the library's own components, with params of the die, memory, price,
network, site and load (14 params, all different at every point). The second is Chiplet Cloud's
server in the library's model of that tool, with params of its die, memory and load. Prints points per
second of processor time on one core, for the first description also for each step of the chain; the
rules of all components are evaluated in each case. Results of the kernel are compared with the
interpreter's.
"""

import argparse
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from common import table, timed

import hwdsl

HEAD = """edition 2026
use std.die: die, unit_array, sram, memory_phy, edge
use std.memory: memory
use std.package: package
use std.node: accelerator, node
use std.link: link
use std.economics: straight_line_4y, price_at_margin
use std.datacenter: us_site
use vendor.processes: N5
use vendor.substrates: CoWoS_S
use vendor.memories: HBM3E
use vendor.links: NVLink4, NDR400
use peers.chiplet_cloud: example, service, gpt3

die chip {
    process       = N5
    area_overhead = 1.1
    width         = 20 mm
    test_time     = 60 s
    unit_array cores { units = 128, required_units = 116, unit_area = 3 mm^2 }
    sram cache { capacity = 50 MB, bitcell_area = process.sram_bitcell_area }
    memory_phy west[3] { shoreline = 8 mm, area = 10 mm^2, edge = edge.west }
    memory_phy east[3] { shoreline = 8 mm, area = 10 mm^2, edge = edge.east }
}

package module {
    substrate    = CoWoS_S
    memory_sites = 6
    test_time    = 600 s
    die gpu : chip
    memory hbm[6] : HBM3E
}

accelerator part {
    package              = module
    compute_units        = 116
    clock                = 1.7 GHz
    flops_per_unit_cycle = 4096 FLOP
    tdp                  = compute_units * 4.5 W + 150 W
    link fabric : NVLink4
}

node server {
    power         = accelerator_power + 2.5 kW
    price         = accelerator_price + chassis_price
    chassis_price = 50 kUSD/unit
    accelerator gpu[8] : part
    link nic[8] : NDR400
}

kind decode {
    server         : node
    parameters     : real
    layers         : int
    hidden_size    : int
    batch_size     : int
    context_length : int

    let rows     = batch_size * 1
    let weights  = parameters * 1 B / server.gpu.count
    let kv_cache = 2 B * 2 * layers * hidden_size / 8 * context_length * batch_size / server.gpu.count
    let memory_time  = (weights + kv_cache) / (0.8 * server.gpu.memory_bandwidth)
    let compute_time = 2 FLOP * parameters * rows / server.gpu.count / (0.6 * server.gpu.peak_fp16)
    let message  = rows * hidden_size * 2 B
    let all_reduce_time = 2 * layers * server.gpu.fabric.message_time(2 * message)
    let step_time = max(memory_time, compute_time) + all_reduce_time

    require memory_capacity: weights + kv_cache <= server.gpu.memory_capacity
        else "{weights + kv_cache in GB} do not fit in {server.gpu.memory_capacity in GB}"
}

evaluator own {
    param defects     : defects_per_area = 0.1 cm^-2 in 0.01 cm^-2 .. 1 cm^-2
    param wafer       : money        = 16 kUSD       in 5 kUSD .. 40 kUSD
    param units       : int          = 128           in 32 .. 160
    param spare       : int          = 12            in 0 .. 16
    param cache       : data         = 50 MB         in 1 MB .. 200 MB
    param pin_rate    : bandwidth    = 8 Gb/s        in 2 Gb/s .. 10 Gb/s
    param stack_price : unit_cost    = 300 USD/unit  in 50 USD/unit .. 2000 USD/unit
    param clock       : frequency    = 1.7 GHz       in 0.5 GHz .. 3 GHz
    param fabric      : bandwidth    = 450 GB/s      in 50 GB/s .. 2 TB/s
    param margin      : real         = 0.9           in 0 .. 0.98
    param electricity_price : energy_price = 0.08 USD/kWh  in 0.01 USD/kWh .. 0.5 USD/kWh
    param lifetime    : time         = 4 year        in 1 year .. 10 year
    param batch_size  : int          = 32            in 1 .. 512
    param context_length : int       = 4096          in 128 .. 100000

    let priced_module = module with {
        gpu.process     = N5 with { defect_density = defects, wafer_price = wafer }
        gpu.cores.units  = units
        gpu.cores.required_units = units - spare
        gpu.cache.capacity = cache
        gpu.tdp          = units * 4 W
        hbm.pin_rate     = pin_rate
        hbm.price        = stack_price
        tdp              = power
    }
    let priced_server = server with {
        gpu.package = priced_module
        gpu.compute_units = units - spare
        gpu.clock = clock
        gpu.price = price_at_margin(priced_module.cost, margin)
        gpu.fabric.bandwidth_per_direction = fabric
        gpu.fabric.lanes = unknown "open"
    }
    let run = decode(
        server = priced_server,
        parameters = 70e9,
        layers = 80,
        hidden_size = 8192,
        batch_size = batch_size,
        context_length = context_length,
    )
    let site      = us_site with { electricity_price = electricity_price }
    let ownership = straight_line_4y with {
        depreciation_period = lifetime
        interest_rate       = 0 year^-1
    }
    let tco_rate = priced_server.price * 1 unit * ownership.depreciation_rate
        + priced_server.power * 0.8 * site.pue * site.electricity_price
        + priced_server.power * site.capex_per_power / site.depreciation_period
"""
OUTPUTS = (
    ("die", "    output die_cost      in USD/unit = priced_module.die_cost\n"),
    ("package", "    output package_cost  in USD/unit = priced_module.cost\n"),
    ("server", "    output server_price  in USD/unit = priced_server.price\n"),
    ("step", "    output step_time     in ms       = run.step_time\n"),
    ("token", "    output cost_per_token in USD/token = "
     "tco_rate * run.step_time / (batch_size * 1 token)\n"),
)  # fmt: skip
PEER = """
evaluator peer {
    param defects   : defects_per_area = 0.001 mm^-2 in 0.0001 mm^-2 .. 0.01 mm^-2
    param wafer     : money     = 10 kUSD     in 1 kUSD .. 40 kUSD
    param perf      : flop_rate = 459 TFLOP/s in 50 TFLOP/s .. 1000 TFLOP/s
    param sram      : data      = 300 MB      in 10 MB .. 600 MB
    param rate      : bandwidth = 3.8 Gb/s    in 1 Gb/s .. 10 Gb/s
    param heat_sink : money     = 13.7 USD    in 0 USD .. 1000 USD
    param batch     : int       = 16          in 16 .. 1024
    param answer    : int       = 256         in 1 .. 100000

    let machine = example with {
        heat_sink            = heat_sink
        pkg.die.defects      = defects
        pkg.die.wafer_price  = wafer
        pkg.die.perf         = perf
        pkg.die.sram         = sram
        pkg.hbm.rate         = rate
    }
    let run = service(server = machine, servers = 16, model = gpt3, batch = batch, prompt = 64,
                      answer = answer, tensor = 64, micro = 16)

    output server in USD       = machine.cost
    output token  in USD/token = run.cost_per_token
}
"""


def points(evaluator, count, draw):
    """Values of all params, all different, from the middle of their ranges."""
    found = {}
    for p in evaluator.spec.params:
        low, high = p.scale.from_base(p.low), p.scale.from_base(p.high)
        low, high = low + 0.2 * (high - low), high - 0.2 * (high - low)
        column = draw.uniform(low, high, count)
        found[p.name] = np.round(column) if p.kind == "int" else column
    return found


def measured(evaluator, count, repeat, draw):
    """Points per second of an evaluator's kernel, and of the sweep that a user calls."""
    given = points(evaluator, count, draw)
    plan = evaluator.plan(mode="zip", **given)
    outputs = [np.empty(plan.points) for _ in evaluator.spec.outputs]
    bits = np.empty((plan.points, evaluator.graph.words), np.uint64)
    kernel = timed(
        lambda: evaluator.kernel.run(plan.grid.axes, 0, plan.points, outputs, bits),
        repeat,
        process_time,
    )
    sweep = timed(lambda: evaluator.sweep(mode="zip", threads=1, **given), repeat, process_time)
    few = {name: column[:50] for name, column in given.items()}
    again = evaluator.interpreted().sweep(mode="zip", **few).raw
    name = evaluator.spec.outputs[-1]
    found = name.scale.from_base(outputs[-1][:50])
    assert np.allclose(found, again[name.name], rtol=1e-11, equal_nan=True)
    return count / kernel, count / sweep


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    count, repeat = (50_000, 3) if options.quick else (400_000, 5)
    draw = np.random.default_rng(1)
    rows = []
    with tempfile.TemporaryDirectory() as text:
        for at, (name, _) in enumerate(OUTPUTS):
            path = Path(text) / f"{name}.hw"
            output = "".join(line for _, line in OUTPUTS[at:][:1])
            path.write_text(HEAD + output + "}\n", "utf-8")
            evaluator = hwdsl.load(path).own
            kernel, sweep = measured(evaluator, count, repeat, draw)
            rows.append((f"to the {name}", len(evaluator.graph.ops), kernel, sweep))
        path = Path(text) / "all.hw"
        path.write_text(HEAD + "".join(line for _, line in OUTPUTS) + "}\n" + PEER, "utf-8")
        both = hwdsl.load(path)
        for name, evaluator in (
            ("all five outputs", both.own),
            ("Chiplet Cloud's server", both.peer),
        ):
            kernel, sweep = measured(evaluator, count, repeat, draw)
            rows.append((name, len(evaluator.graph.ops), kernel, sweep))
    table(
        "million points per second of processor time on one core",
        ("", "operations", "kernel", "sweep"),
        [(n, ops, f"{k / 1e6:.2f}", f"{s / 1e6:.2f}") for n, ops, k, s in rows],
    )


if __name__ == "__main__":
    main()
