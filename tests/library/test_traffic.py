"""Traffic against machines of a few lines: rings of chunks, pipelines of waves, caches of tiles."""

import itertools

import pytest

import hwdsl
from hwdsl.api.evaluator import Module

TEXT = """edition 2026
use std.execution: memory_traffic
use std.fused_overlap
use std.node: accelerator
use std.operators
use std.optimizers: optimizer_step
use std.traffic
use vendor.nvidia: A100_SXM_80GB

evaluator collective {
    param ranks : int = 4 in 1 .. 64
    choice operation : collective_operation in [
        reduce_scatter,
        all_gather,
        all_reduce,
        all_to_all,
    ] = reduce_scatter
    choice algorithm : collective_algorithm in [ring, direct]                = ring
    choice reduction : reduction_place      in [compute_units, near_memory]  = compute_units
    choice fused     : bool                 in [false, true]                 = false
    choice in_place  : bool                 in [false, true]                 = true
    let one = collective_traffic(
        operation = operation,
        algorithm = algorithm,
        size = ranks * 1 MB,
        ranks = ranks,
        reduction = reduction,
        fused = fused,
        in_place = in_place,
    )
    output reads    in MB = one.memory_reads
    output writes   in MB = one.memory_writes
    output total    in MB = one.memory_traffic
    output updates  in MB = one.updates
    output produced in MB = one.producer_writes
    output sent     in MB = one.link_traffic
    output last     in MB = one.last_addition
}

evaluator pipeline {
    param computation : time = 7 s   in 0 s .. 100 s
    param transfer    : time = 5 s   in 0 s .. 100 s
    param pieces      : int  = 8     in 1 .. 64
    param moved       : int  = 7     in 1 .. 64
    output took in s = lockstep_time(computation, transfer, pieces, moved / pieces)
}

evaluator together {
    param compute       : time      = 10 ms   in 0 ms .. 1 s
    param traffic       : data      = 5 GB    in 0 GB .. 100 GB
    param sent          : time      = 8 ms    in 0 ms .. 1 s
    param collective    : data      = 2 GB    in 0 GB .. 100 GB
    param updates       : data      = 0 GB    in 0 GB .. 100 GB
    param rate          : bandwidth = 1 TB/s  in 0 TB/s .. 10 TB/s
    choice arbitration : memory_arbitration in [shared_queue, compute_first] = compute_first
    let one = fused_collective(
        compute_time = compute,
        compute_traffic = traffic,
        link_time = sent,
        collective_traffic = collective,
        collective_updates = updates,
        memory_bandwidth = 1 TB/s,
        update_bandwidth = rate,
        pieces = 20,
        moved_fraction = 7 / 8,
        arbitration = arbitration,
    )
    output took      in ms = one.fused_time
    output alone     in ms = one.computation_time
    output moved     in ms = one.collective_time
    output in_memory in ms = one.compute_memory_time + one.collective_memory_time
}

accelerator toy {
    compute_units        = 4
    clock                = 1 GHz
    flops_per_unit_cycle = 1024 FLOP
    memory_bandwidth     = 100 GB/s
    llc_capacity         = 1 MiB
}

evaluator waves {
    param m     : int  = 1024 in 256 .. 65536
    param n     : int  = 512  in 256 .. 65536
    param k     : int  = 256  in 64 .. 65536
    param cache : data = 1 MB in 0 MB .. 1 GB
    param units : int  = 4    in 1 .. 64
    choice cached_output : bool in [false, true] = false
    let one = gemm_wave_traffic(
        gemm = matmul(m = m, n = n, k = k),
        accelerator = toy with { llc_capacity = cache, compute_units = units },
        cached_output = cached_output,
    )
    output reads in B = one.memory_reads
    output rows       = one.best_tile.shape.m
    output columns    = one.best_tile.shape.n
}

evaluator step {
    let ops = [
        matmul(m = 100, n = 300, k = 200),
        activation(elements = 30_000),
        attention(batch_size = 1, heads = 2, query_length = 10, kv_length = 10),
        optimizer(updated_parameters = 1000),
    ]
    let forward = operator_traffic(operators = ops, accelerator = A100_SXM_80GB)
    let back    = operator_traffic(operators = backward(ops[0]), accelerator = A100_SXM_80GB)
    let lamb    = operator_traffic(
        operators = [optimizer_step(algorithm = lamb, copy_bytes = 2 B).operator_for(1000)],
        accelerator = A100_SXM_80GB,
    )
    output lamb_reads    in B = lamb.optimizer_state_reads
    output lamb_writes   in B = lamb.optimizer_state_writes
    output reads         in B = forward.memory_reads
    output writes        in B = forward.memory_writes
    output weights       in B = forward.weight_reads
    output cache         in B = forward.kv_cache_reads
    output states_read   in B = forward.optimizer_state_reads
    output states        in B = forward.optimizer_state_writes
    output total         in B = sum(
        o.pre_kernel_traffic + memory_traffic(o.operands, A100_SXM_80GB)
        for o in ops
    )
    output gradients     in B = back.weight_writes
    output back_weights  in B = back.weight_reads
    output back_writes   in B = back.activation_writes
    output back_reads    in B = back.activation_reads
}
"""


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Module:
    path = tmp_path_factory.mktemp("traffic") / "ask.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path, compiled=False)


class Rank:
    """Memory of a rank that counts its accesses, in chunks."""

    def __init__(self) -> None:
        self.reads = self.writes = self.sent = 0

    def read(self, times: int = 1) -> None:
        self.reads += times

    def write(self, times: int = 1) -> None:
        self.writes += times


def ring_reduce_scatter(n: int, adds: bool, fused: bool) -> tuple[Rank, int]:
    """Pass chunks around a ring; return a rank, and the chunks that its own kernel stored in it."""
    ranks = [Rank() for _ in range(n)]
    stored = [[not (fused and chunk == rank) for chunk in range(n)] for rank in range(n)]
    for step in range(n - 1):
        for rank, (here, there) in enumerate(zip(ranks, ranks[1:] + ranks[:1], strict=True)):
            chunk = (rank - step) % n
            if stored[rank][chunk]:
                here.read(1 if adds or step == 0 else 2)
            here.sent += 1
            there.write()
    for rank in ranks:
        if not adds and n > 1:
            rank.read(2)
            rank.write()
    return ranks[0], sum(stored[0])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize(("adds", "fused"), [(False, False), (True, False), (True, True)])
def test_a_ring_is_counted(ask: Module, n: int, adds: bool, fused: bool) -> None:
    place = "near_memory" if adds else "compute_units"
    got = ask.collective(ranks=n, reduction=place, fused=fused)
    want, stored = ring_reduce_scatter(n, adds, fused and n > 1)
    assert (got["reads"], got["writes"], got["sent"]) == (want.reads, want.writes, want.sent)
    assert got["produced"] == stored
    assert got["updates"] == (n - 1 if adds else 0)


def test_other_collectives_by_their_paths(ask: Module) -> None:
    n = 8
    gather = ask.collective(ranks=n, operation="all_gather")
    assert (gather["reads"], gather["writes"], gather["sent"]) == (7, 7, 7)
    assert ask.collective(ranks=n, operation="all_gather", in_place=False)["total"] == 16
    both = ask.collective(ranks=n, operation="all_reduce")
    part = ask.collective(ranks=n)
    for name in ("reads", "writes", "sent"):
        assert both[name] == part[name] + gather[name]
    hops = sum((there - 0) % n for there in range(n))
    around = ask.collective(ranks=n, operation="all_to_all")
    assert (around["reads"], around["writes"], around["sent"]) == (hops, hops, hops)
    direct = ask.collective(ranks=n, operation="all_to_all", algorithm="direct")
    assert (direct["reads"], direct["writes"]) == (7, 7)
    staged = ask.collective(ranks=n, algorithm="direct")
    assert (staged["reads"], staged["writes"]) == (7 + 8, 7 + 1), "seven sent, eight added"
    assert (part["last"], staged["last"]) == (3, 9), "what waits for the last chunk"
    stored = ask.collective(ranks=n, algorithm="direct", reduction="near_memory", fused=True)
    assert (stored["reads"], stored["writes"], stored["produced"]) == (0, 7, 1)
    assert (stored["last"], gather["last"]) == (0, 0)


def by_events(computation: float, transfer: float, pieces: int, moved: int) -> float:
    """Waves that end one after the other, on a link that carries one at a time."""
    free = 0.0
    for piece in range(1, moved + 1):
        free = max(free, piece * computation / pieces) + transfer / moved
    return max(free, computation)


CASES = list(itertools.product((0.0, 1.0, 6.5, 30.0), (0.0, 2.0, 6.6, 50.0), (1, 2, 9, 40)))


@pytest.mark.parametrize(("computation", "transfer", "pieces"), CASES)
def test_lockstep_is_a_pipeline(
    ask: Module, computation: float, transfer: float, pieces: int
) -> None:
    for moved in {1, max(1, pieces - 1), pieces}:
        got = ask.pipeline(computation=computation, transfer=transfer, pieces=pieces, moved=moved)
        want = by_events(computation, transfer, pieces, moved)
        assert float(got["took"]) == pytest.approx(want)


@pytest.mark.parametrize("traffic", [0, 5, 9, 40])
@pytest.mark.parametrize(("sent", "collective", "rate"), [(8, 2, 1), (30, 2, 0.1), (1, 20, 0.5)])
def test_both_share_the_memory(
    ask: Module, traffic: float, sent: float, collective: float, rate: float
) -> None:
    point = {"traffic": traffic, "sent": sent, "collective": collective, "updates": 1, "rate": rate}
    first = ask.together(**point)
    queued = ask.together(**point, arbitration="shared_queue")
    in_memory = traffic + collective + 1 / rate
    assert float(first["in_memory"]) == pytest.approx(in_memory)
    assert first["took"] >= max(float(first["alone"]), sent, in_memory) * (1 - 1e-12)
    assert queued["took"] >= first["took"], "an access that waits costs time"
    wait = float(queued["alone"]) - float(first["alone"])
    assert wait == pytest.approx(collective + 1 / rate)


def lru_reads(m: int, n: int, k: int, tile: tuple[int, int], units: int, cache: float) -> float:
    """Bytes that waves of tiles read through an LRU cache of panels."""
    size = {"a": tile[0] * k * 2, "b": tile[1] * k * 2}
    held: dict[tuple[str, int], None] = {}
    read = 0.0
    tiles = [(row, column) for row in range(m // tile[0]) for column in range(n // tile[1])]
    for start in range(0, len(tiles), units):
        wave = tiles[start : start + units]
        panels = dict.fromkeys([("a", row) for row, _ in wave] + [("b", col) for _, col in wave])
        for panel in panels:
            if panel in held:
                del held[panel]
            else:
                read += size[panel[0]]
            held[panel] = None
            while sum(size[kind] for kind, _ in held) > cache:
                del held[next(iter(held))]
    return read


@pytest.mark.parametrize("cache", [0.1, 0.2, 2.5, 8.0])
@pytest.mark.parametrize(("m", "n", "units"), [(4096, 1024, 8), (4096, 2048, 4), (8192, 512, 16)])
def test_reads_in_waves_follow_a_cache(
    ask: Module, m: int, n: int, units: int, cache: float
) -> None:
    """Far from the size at which the inputs just fit, reads are those of a cache with LRU."""
    got = ask.waves(m=m, n=n, k=256, cache=cache, units=units)
    tile = (int(got.rows), int(got.columns))
    want = lru_reads(m, n, 256, tile, units, cache * 1e6)
    assert float(got["reads"]) == pytest.approx(want, rel=0.12)
    turned = ask.waves(m=n, n=m, k=256, cache=cache, units=units)
    tile = (int(turned.columns), int(turned.rows))
    want = lru_reads(m, n, 256, tile, units, cache * 1e6)
    assert float(turned["reads"]) == pytest.approx(want, rel=0.12), "along the longer side"
    more = ask.waves(m=m, n=n, k=256, cache=cache, units=units, cached_output=True)
    assert more["reads"] >= got["reads"], "outputs take room from inputs"


def test_operators_by_role(ask: Module) -> None:
    got = ask.step()
    assert got["reads"] + got["writes"] == pytest.approx(float(got["total"]))
    product = (100 * 200 * 2, 200 * 300 * 2, 100 * 300 * 2)
    assert got["weights"] == product[1]
    assert (got["states_read"], got["states"]) == (16_000, 14_000)
    clipping, update, norms, applying = 4, 4 + 4 + 8, 4 + 4, 4 + 4
    assert got["lamb_writes"] == pytest.approx(1000 * (4 + 2 + 8 + 4)), "with its update"
    assert got["lamb_reads"] == pytest.approx(1000 * (clipping + update + norms + applying))
    assert got["cache"] == 10 * 2 * 2 * 128 * 2
    before = 10 * (2 * 128 + 2 * 2 * 128) * 4 / 2
    query = 10 * 2 * 128 * 2
    written = product[2] + 30_000 * 2 + query + 14_000 + before
    assert got["writes"] == pytest.approx(written)


def test_gradients_are_written_where_inputs_were_read(ask: Module) -> None:
    got = ask.step()
    a, b, c = 100 * 200 * 2, 200 * 300 * 2, 100 * 300 * 2
    assert (got["gradients"], got["back_weights"]) == (b, b)
    assert got["back_writes"] == a
    assert got["back_reads"] == c + a + c
