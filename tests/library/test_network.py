"""One network: exchanges follow from process groups, scale-up domains and tiers of the network.

Expected values are counted here: ranks by enumeration, links of a torus by walking around it, and
bandwidths that were published.
"""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwdsl.api.evaluator import Module

TEXT = """edition 2026
use std.cluster: cluster
use std.communicator
use std.inference: static_batch
use std.link: link
use std.llm_training: llm_training_step
use std.node: node
use std.contention: contention, assumed_contention
use std.overlap: overlap_strategy
use std.parallelism: plan
use std.placement
use std.topology: fat_tree, dragonfly, torus, cable, star, switch
use vendor.clusters: Llama3_24k, Frontier
use vendor.links
use vendor.nodes
use vendor.switches: NVSwitch4, QM9700
use workloads.transformers: DeepSeek_V3

## Ranks of each group of a placement within a part of the machine.
evaluator where {
    choice order : rank_order in [tp_cp_dp_pp, tp_cp_pp_dp] = tp_cp_dp_pp
    param tensor   : int = 1 in 1 .. 64
    param context  : int = 1 in 1 .. 64
    param data     : int = 1 in 1 .. 64
    param pipeline : int = 1 in 1 .. 64
    param expert   : int = 1 in 1 .. 64
    param extent   : int = 1 in 1 .. 4096
    let p = placement(
        rank_order = order, tensor = tensor, context = context, data = data,
        pipeline = pipeline, expert = expert,
    )
    allow p.expert_order "asked of the other groups"
    output tp = p.tp_group.ranks_within(extent)
    output cp = p.cp_group.ranks_within(extent)
    output dp = p.dp_group.ranks_within(extent)
    output pp = p.pp_group.ranks_within(extent)
    output ep = p.ep_group.ranks_within(extent)
}

## A job of groups of neighbours that follow each other, in domains that they need not fill.
evaluator across {
    param ranks  : int = 5 in 1 .. 4096
    param groups : int = 1 in 1 .. 4096
    param domain : int = 8 in 1 .. 4096
    let group = process_group(ranks = ranks, job_size = ranks * groups)
    output spanned = group.inner_domains(domain)
    output mean    = group.ranks_per_domain(domain)
    output fewest  = group.fewest_ranks_per_domain(domain)
    output reduce in us = all_reduce(1 GB, group, H100)
    output gather in us = all_gather(1 GB, group, H100)
}

cluster H100   { node nodes[2048] : DGX_H100 }
cluster pod    { oversubscription = 7, pod_size = 512, node nodes[1024] : DGX_H100 }
cluster TPU_v4 { node nodes[1024] : TPU_v4_tray { link nic[4] : NDR400 } }
cluster racks  { node nodes[16] : GB200_NVL72 }
node tray : GB200_NVL72 {
    gpu.count = 8, nic.count = 8, in_network_reduction = true, cpu.count = 4
    scale_up_domain = 72, scale_up.endpoints = 72
    scale_up.switch_cost = 18 * 10 kUSD/unit, scale_up.switch_power = 18 * 400 W
    scale_up.switch_failure_rate = 18 / (300_000 h)
    price = accelerator_price + scale_up_price, gpu.price = 30 kUSD/unit
    scale_up.endpoint_cable = backplane_copper with { price = 10 USD/unit, mttf = 1_000_000 h }
    non_accelerator_power = scale_up_power, other_failure_rate = 0 h^-1, gpu.mttf = 50_000 h
    cpu.mttf = inf, nic.mttf = inf
}
cluster trays { node nodes[144] : tray }
## One wide cable from each accelerator to a single switch.
switch wide : NVSwitch4 { bandwidth_per_direction = 900 GB/s }
node thin : GB200_NVL72 {
    gpu.count = 8, nic.count = 8, cpu.count = 4, scale_up_domain = 72
    scale_up = star(
        endpoints = 72, switch_part = wide,
        endpoint_cable = backplane_copper with { bandwidth_per_direction = 900 GB/s },
    )
}
cluster thin_trays { node nodes[144] : thin }

## Collectives of neighbouring ranks.
evaluator exchange {
    choice on : cluster in [H100, pod, Llama3_24k, TPU_v4, racks, trays, Frontier] = H100
    param ranks            : int  = 16    in 1 .. 32768
    param stride           : int  = 1     in 1 .. 4096
    param oversubscription : real = 1     in 1 .. 100
    param pod_size         : real = 512   in 1 .. 65536
    param size             : data = 8 GB  in 1 B .. 1 TB
    let g = process_group(ranks = ranks, stride = stride)
    let c = on with { oversubscription = oversubscription, pod_size = pod_size }
    output reduce  in us = all_reduce(size, g, on)
    output gather  in us = all_gather(size, g, on)
    output spread  in us = all_to_all(size, g, on)
    output reduce_tapered in us = all_reduce(size, g, c)
    output gather_tapered in us = all_gather(size, g, c)
    output spread_tapered in us = all_to_all(size, g, c)
    output send_tapered   in us = neighbour_send(size, g, c)
}

## Switches between nodes that reduce (SHARP), for one rank of each node.
evaluator sharp {
    choice reduces : bool in [false, true] = true
    param nodes : int  = 64   in 2 .. 1024
    param size  : data = 8 GB in 1 B .. 1 TB
    let c = on_tree with { in_network_reduction = reduces }
    output reduce in us = all_reduce(size, process_group(ranks = nodes, stride = 8), c)
    output gather in us = all_gather(size, process_group(ranks = nodes, stride = 8), c)
}

## The same on nodes of eight H100 whose scale-up fabric joins more or fewer.
node many : DGX_H100 { scale_up_domain = 8 }
evaluator domain {
    param ranks  : int = 256 in 2 .. 4096
    param extent : int = 8   in 8 .. 256
    choice reduces : bool in [false, true] = false
    let c = H100 with {
        nodes = many with {
            count = 512, scale_up_domain = extent, scale_up.endpoints = extent
            in_network_reduction = reduces
        }
        oversubscription = 3
    }
    let g = process_group(ranks = ranks)
    output reduce in us = all_reduce(1 GB, g, c)
    output gather in us = all_gather(1 GB, g, c)
    output spread in us = all_to_all(1 GB, g, c)
}

## Switches of a described latency, in a domain and between nodes.
evaluator latency {
    param inside : time = 0 ns in 0 ns .. 10_000 ns
    param beyond : time = 0 ns in 0 ns .. 10_000 ns
    param ranks  : int = 8 in 2 .. 512
    param stride : int = 1 in 1 .. 64
    let quick = on_tree with {
        nodes.scale_up.switch_latency = inside
        scale_out.switch_latency      = scale_out.switch_hops * beyond
    }
    output reduce in us = all_reduce(1 B, process_group(ranks = ranks, stride = stride), quick)
    output straggling   = straggler_factor(ranks)
}

## A torus of 8 x 4 x 2, by its links.
torus small { dimensions = [8, 4, 2], cable endpoint_cable : AOC_400G }
evaluator rings {
    param ranks  : int = 64 in 1 .. 64
    param stride : int = 1  in 1 .. 64
    let g = process_group(ranks = ranks, stride = stride)
    output links = small.ring_port_fraction(g) * small.ports_per_endpoint
    output hops  = small.ring_hops(g)
    output share = small.all_to_all_port_fraction(g) * small.ports_per_endpoint
}

## Fat tree of three tiers with an oversubscription in each, and a dragonfly.
fat_tree tree {
    endpoints = 8192, tiers = 3, oversubscription = 3, spine_oversubscription = 2
    switch switch_part : QM9700
    cable endpoint_cable : SR4_400G
    cable switch_cable : SR4_400G
}
dragonfly groups {
    endpoints_per_switch = 8, switches_per_group = 16, global_links_per_switch = 2, groups = 9
    switch switch_part : QM9700
    cable endpoint_cable : SR4_400G
    cable switch_cable : SR4_400G
}
cluster on_tree      { scale_out = tree, node nodes[1024] : HGX_H100 }
cluster on_dragonfly { scale_out = groups, node nodes[144] : HGX_H100 }
evaluator tiers {
    choice on : cluster in [on_tree, on_dragonfly] = on_tree
    param ranks : int = 1024 in 1 .. 8192
    let g = process_group(ranks = ranks)
    output ring  = on.ring_fraction(g)
    output spread = on.all_to_all_fraction(g)
    output bisection in GB/s = on.scale_out.bisection_bandwidth
    output rate in GB/s = (1 TB) / all_to_all(1 TB, g, on)
}

evaluator shares {
    output tray_price in USD/unit = tray.scale_up_price
    output tray_power in W        = tray.scale_up_power
    output tray_rate  in h^-1     = tray.scale_up_failure_rate
    output planes     = trays.blast_radius
    output one_plane  = thin_trays.blast_radius
    output node_price in USD/unit = tray.price - 8 * 30 kUSD/unit
    output node_power in W        = tray.power - tray.accelerator_power
    output node_rate  in h^-1     = tray.interruption_rate - 8 / (50_000 h)
}

evaluator decode {
    param spread           : int       = 64      in 1 .. 256
    param port             : bandwidth = 50 GB/s in 1 GB/s .. 200 GB/s
    param oversubscription : real      = 1       in 1 .. 64
    let c = H100 with {
        nodes.nic.lanes = 1, nodes.nic.lane_rate = port, nodes.host_link = unknown "any"
        oversubscription = oversubscription
    }
    let g = static_batch(
        model = DeepSeek_V3 with { dtype = fp8, expert_parallel = spread },
        cluster = c, tensor = 1, batch_size = 128, input_length = 4000, output_length = 100,
    )
    allow g.memory_used "asked for its time"
    output tpot in ms = g.tpot
}

contention ideal : assumed_contention {
    unit_interference = 0, memory_interference = 0, leftover_unit_fraction = 1, measured = true
}

evaluator shared_ports {
    choice how : overlap_strategy in [serial, prioritized] = prioritized
    param port : bandwidth = 5 GB/s in 0.1 GB/s .. 50 GB/s
    param batch : int = 256 in 1 .. 65536
    let step = llm_training_step(
        model = DeepSeek_V3, seq_length = 4096, dp_overlap = how,
        plan = plan(data = 256, expert = 64, global_batch = batch, sharding = zero_1),
        cluster = H100 with {
            nodes.nic.lanes = 1, nodes.nic.lane_rate = port, nodes.host_link = unknown "any"
        },
        contention = ideal,
    )
    allow step.peak_memory "asked for its time"
    output exposed  in s = step.exposed_dp
    output together in s = step.dp_communication_time
    output window   in s = step.overlap_window
    output others   in s = step.layer_network_time
    output layer    in s = step.layer_forward + step.layer_backward
}
"""


def bus(time: float, ranks: int, size: float) -> float:
    """Bus bandwidth of an all-reduce in GB/s, of a time in us and a size in GB."""
    return 2 * (ranks - 1) / ranks * size / (time * 1e-6)


# --- who sits where -------------------------------------------------------------------------------

POWERS = st.sampled_from([1, 2, 4, 8])


@settings(max_examples=40, deadline=None)
@given(
    order=st.sampled_from(["tp_cp_dp_pp", "tp_cp_pp_dp"]),
    tp=POWERS, cp=POWERS, dp=POWERS, pp=POWERS, ep=POWERS,
    extent=st.sampled_from([1, 2, 4, 8, 16, 32, 64, 256, 4096]),
)  # fmt: skip
def test_groups_are_those_of_the_order(
    module: Module, order: str, tp: int, cp: int, dp: int, pp: int, ep: int, extent: int
) -> None:
    """Ranks are enumerated in the order; those of the first rank's group in its part count."""
    asked = module.where(
        order=order, tensor=tp, context=cp, data=dp, pipeline=pp, expert=ep, extent=extent
    )
    sizes = {"tp": tp, "cp": cp, "dp": dp, "pp": pp}
    names = order.split("_")
    ranks = [
        dict(zip(reversed(names), place, strict=True))
        for place in itertools.product(*(range(sizes[n]) for n in reversed(names)))
    ]
    near = ranks[:extent]
    for name, members in (("tp", "tp"), ("cp", "cp"), ("dp", "cp dp"), ("pp", "pp")):
        others = set(sizes) - set(members.split())
        assert getattr(asked, name) == sum(all(r[o] == 0 for o in others) for r in near), name
    if order == "tp_cp_dp_pp" and ep <= cp * dp:
        found = sum(r["tp"] == r["pp"] == 0 and r["dp"] * cp + r["cp"] < ep for r in near)
        assert asked.ep == found


@settings(max_examples=40, deadline=None)
@given(
    ranks=st.integers(1, 100), domain=st.sampled_from([1, 4, 6, 8, 16, 64, 72]), alone=st.booleans()
)
def test_groups_that_do_not_fill_domains_span_several(
    module: Module, ranks: int, domain: int, alone: bool
) -> None:
    """Groups are placed one by one, until the border of a group is that of a domain again."""
    groups = 1 if alone else domain
    held = []
    for first in range(0, ranks * groups, ranks):
        places = [rank // domain for rank in range(first, first + ranks)]
        held.append([places.count(place) for place in set(places)])
    asked = module.across(ranks=ranks, groups=groups, domain=domain)
    assert asked.spanned == max(len(counts) for counts in held)
    assert asked.mean == pytest.approx(ranks / asked.spanned)
    assert asked.fewest == pytest.approx(min(min(counts) for counts in held))


def test_a_group_across_a_border_exchanges_over_the_network(module: Module) -> None:
    """Of five ranks each in nodes of eight, a group leaves one alone. Its port of 50 GB/s carries
    the message of an all-reduce once in each direction, and the four other parts of an all-gather.
    """
    inside = module.across(ranks=5, groups=1)
    across = module.across(ranks=5, groups=8)
    for name, share in (("reduce", 1), ("gather", 4 / 5)):
        wire = share * 1e9 / 50e9 * 1e6
        assert getattr(inside, name) < wire / 4
        assert wire < getattr(across, name) < 1.5 * wire


# --- published bandwidths -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on", "ranks", "size", "low", "high"),
    [
        ("H100", 8, 8, 465, 490),  # NVLS
        ("H100", 128, 8, 310, 390),
        ("Llama3_24k", 16, 8, 300, 520),  # two nodes of a pod with full bisection
        ("TPU_v4", 4096, 1, 200, 270),  # rings along three dimensions
    ],
)
def test_all_reduce_reaches_what_is_published(
    module: Module, on: str, ranks: int, size: int, low: float, high: float
) -> None:
    asked = module.exchange(on=on, ranks=ranks, size=size)
    assert low <= bus(asked.reduce, ranks, size) <= high


def test_bisection_bounds_an_all_to_all_of_a_torus(module: Module) -> None:
    """Half of the traffic of 4,096 chips crosses 2 x 16 x 16 links of 50 GB/s: 25 GB/s a chip."""
    rate = 100 / (module.exchange(on="TPU_v4", ranks=4096, size=100).spread * 1e-6)
    assert 20 < rate <= 4 * 2 * 16 * 16 * 50 / 4096


# --- laws -----------------------------------------------------------------------------------------

EXCHANGES = ("reduce_tapered", "gather_tapered", "spread_tapered", "send_tapered")


@settings(max_examples=25, deadline=None)
@given(
    ranks=st.integers(2, 4096), stride=st.sampled_from([1, 2, 8, 64]),
    taper=st.floats(1, 30), more=st.floats(1, 3), pod=st.sampled_from([64, 512, 4096]),
)  # fmt: skip
def test_oversubscription_counts_where_traffic_crosses_it(
    module: Module, ranks: int, stride: int, taper: float, more: float, pod: int
) -> None:
    given_ = {"ranks": ranks, "stride": stride, "pod_size": pod}
    none = module.exchange(oversubscription=1, **given_)
    less = module.exchange(oversubscription=taper, **given_)
    much = module.exchange(oversubscription=taper * more, **given_)
    for name in EXCHANGES:
        times = [getattr(x, name) for x in (none, less, much)]
        assert times[0] <= times[1] * 1.000001
        assert times[1] <= times[2] * 1.000001
        if ranks * stride <= pod:
            assert times[0] == times[2], name


def test_oversubscription_slows_what_crosses_it(module: Module) -> None:
    """An all-to-all over eight pods leaves 7/8 of its data to uplinks of a seventh."""
    one, seven = (module.exchange(ranks=4096, oversubscription=o) for o in (1, 7))
    assert seven.spread_tapered / one.spread_tapered == pytest.approx(
        7 * (7 / 8) / (1 - 1 / 512), rel=0.01
    )
    # A ring leaves a pod once: eight rings of full rate beside uplinks for 512 accelerators.
    assert seven.reduce_tapered == one.reduce_tapered
    # One rank of each pod: each ring has no more than its share of the uplinks.
    far = [module.exchange(ranks=8, stride=512, oversubscription=o) for o in (1, 7)]
    assert far[1].gather_tapered / far[0].gather_tapered == pytest.approx(7, rel=0.02)
    assert far[1].send_tapered / far[0].send_tapered == pytest.approx(7, rel=0.02)


@settings(max_examples=25, deadline=None)
@given(
    ranks=st.one_of(st.sampled_from([2, 8, 32, 128]), st.integers(1, 16).map(lambda k: 256 * k)),
    extents=st.tuples(*[st.sampled_from([8, 16, 32, 64, 128, 256])] * 2),
)  # fmt: skip
def test_a_larger_domain_is_never_slower(
    module: Module, ranks: int, extents: tuple[int, int]
) -> None:
    """Where groups fill their domains: the few ranks of one that is not full hold up a ring."""
    # Formulas only: nobody sells a switch that so many accelerators fit on.
    small, large = (module.domain(ranks=ranks, extent=e).raw for e in sorted(extents))
    assert large.spread <= small.spread * 1.000001
    assert large.gather <= small.gather * 1.02
    assert large.reduce <= small.reduce * 1.02


@pytest.mark.parametrize(("ranks", "stride"), [(16, 1), (72, 1), (36, 2), (576, 1), (8, 72)])
def test_trays_of_a_rack_are_the_rack(module: Module, ranks: int, stride: int) -> None:
    """The domain counts, not the boxes that its accelerators are in."""
    whole = module.exchange(on="racks", ranks=ranks, stride=stride)
    split = module.exchange(on="trays", ranks=ranks, stride=stride)
    for name in ("reduce", "gather", "spread"):
        assert getattr(split, name) == pytest.approx(getattr(whole, name), rel=1e-9)


@pytest.mark.parametrize(
    ("ranks", "stride", "links", "hops"),
    [
        (64, 1, 2 + 2 + 1, 7 + 3 + 1),  # everything: two rings, and a pair with one cable
        (8, 1, 2, 7),
        (4, 1, 1, 3),  # half of a ring is a line
        (32, 1, 4, 10),
        (8, 8, 3, 4),  # the second and third dimension
        (4, 8, 2, 3),
        (2, 32, 1, 1),
        (4, 2, 1, 3),  # every second chip of a ring: two groups share its links
    ],
)
def test_rings_use_the_links_of_a_torus(
    module: Module, ranks: int, stride: int, links: int, hops: int
) -> None:
    found = module.rings(ranks=ranks, stride=stride)
    assert found.links == pytest.approx(links)
    assert found.hops == hops


def test_an_all_to_all_of_a_torus_is_bounded_by_its_cut(module: Module) -> None:
    """Of 8 x 4 x 2 chips 32 on each side of 2 x 8 links: 1/2 of the data of 32 chips on 16."""
    assert module.rings().share * 64 / 63 == pytest.approx(1 / (32 * 0.5 / 16))


def test_tiers_of_a_fat_tree(module: Module) -> None:
    """Leaves of 48 endpoints with 16 uplinks, pods of 42 leaves with half of these upwards."""
    leaf, pod = 16 / 48, 16 / 48 / 2
    inside = module.tiers(ranks=1024)
    assert inside.spread == pytest.approx(leaf * (1024 - 8) / (1024 - 48))
    all_ = module.tiers(ranks=8192)
    across = pod * (8192 - 8) / (8192 - 42 * 48)
    assert all_.spread == pytest.approx(min(across, leaf * (8192 - 8) / (8192 - 48)), rel=0.02)
    assert all_.ring == 1  # 48 x 1/3 of a port for eight rings


def test_groups_of_a_dragonfly(module: Module) -> None:
    """Groups of 128 endpoints have 32 global links; everything else of a switch has 17 for 8."""
    found = module.tiers(on="on_dragonfly", ranks=1152)
    assert found.spread == pytest.approx(32 / 128 * (1152 - 8) / (1152 - 128), rel=0.02)
    assert module.tiers(on="on_dragonfly", ranks=128).spread == 1


@pytest.mark.parametrize("on", ["on_tree", "on_dragonfly"])
def test_no_all_to_all_exceeds_the_bisection(module: Module, on: str) -> None:
    ranks = 8192 if on == "on_tree" else 1152
    found = module.tiers(on=on, ranks=ranks)
    assert found.rate * ranks / 4 <= found.bisection * 1.001


# --- price, power, failures; serving; ports -------------------------------------------------------


@pytest.mark.parametrize("size", [1e-6, 1e-3, 0.1, 8])
def test_switches_between_nodes_reduce(module: Module, size: float) -> None:
    """A port sends the message once instead of 2 (n - 1) / n times; gathers are as before."""
    with_, without = (module.sharp(reduces=r, size=size) for r in (True, False))
    assert with_.reduce <= without.reduce
    assert with_.gather == without.gather
    if size == 8:
        assert without.reduce / with_.reduce == pytest.approx(2 * 63 / 64, rel=0.02)


def test_each_hop_has_the_latency_of_its_switches(module: Module) -> None:
    """A ring of eight has 14 hops through one switch; a tree of four nodes 4 within a leaf, each as
    slow as its last straggler."""
    took = {
        (inside, beyond, ranks, stride): module.latency(
            inside=inside, beyond=beyond, ranks=ranks, stride=stride
        ).reduce
        for inside, beyond in ((0, 0), (1000, 0), (0, 1000))
        for ranks, stride in ((8, 1), (4, 8))
    }
    ring = took[1000, 0, 8, 1] - took[0, 0, 8, 1]
    assert ring == pytest.approx(14, rel=1e-6)
    assert took[0, 1000, 8, 1] == took[0, 0, 8, 1]
    tree = took[0, 1000, 4, 8] - took[0, 0, 4, 8]
    straggling = module.latency(ranks=4, stride=8).straggling
    assert straggling > 1
    assert tree == pytest.approx(4 * straggling, rel=1e-6)


def test_trays_share_the_fabric_of_their_domain(module: Module) -> None:
    """Nine trays have 18 switches, and 72 x 18 cables, among them."""
    found = module.shares()
    assert found.tray_price * 9 == pytest.approx(18 * 10_000 + 72 * 18 * 10)
    assert found.tray_power * 9 == pytest.approx(18 * 400)
    assert found.tray_rate * 9 == pytest.approx(18 / 300_000 + 72 * 18 / 1_000_000)
    # A switch of 18 that fails narrows the fabric of 72; the only one stops it.
    assert (found.planes, found.one_plane) == (8, 72)
    for name in ("price", "power", "rate"):
        part = getattr(found, f"tray_{name}")
        assert getattr(found, f"node_{name}") == pytest.approx(part), name


def test_the_network_slows_experts_of_many_nodes(module: Module) -> None:
    def tpot(**given_: Any) -> float:
        return float(module.decode(**given_).tpot)

    assert tpot(spread=8) == tpot(spread=8, port=1) == tpot(spread=8, oversubscription=7)
    assert tpot(spread=64) < tpot(spread=64, oversubscription=7)
    assert tpot(spread=64) < tpot(spread=64, port=12.5) < tpot(spread=64, port=1)
    assert tpot(spread=64, port=12.5) == pytest.approx(tpot(spread=64, oversubscription=4))


@pytest.mark.parametrize("port", [0.5, 2, 5, 20])
def test_ports_carry_no_more_than_their_rate(module: Module, port: float) -> None:
    """Experts' dispatches and gradients share the network ports during the overlap window."""
    found = module.shared_ports(port=port)
    busy = found.others / found.layer
    assert 0.05 < busy < 1
    free = (1 - busy) * found.window
    assert found.exposed >= (found.together - free) * 0.999
    assert found.exposed <= module.shared_ports(port=port, how="serial").exposed * 1.000001
