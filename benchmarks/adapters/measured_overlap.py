"""Adapters of published times of a GEMM and a collective that overlap, for the study of GEMM and
collective overlap.

Sources state the GEMM of a rank in different ways: `kraken` gathers M rows of each rank and
scatters a result of M rows; `flux` states sizes over all ranks. The table repeats a serial time for
each overlap strategy; here it is read once.
"""

from machines import Undescribed, component
from measured import LEFT_OUT, Row, Set, converted, read
from measured_collectives import PATHS

# Bandwidth of one H800 (NVIDIA, 2023) and of one MI355X over its seven links (AMD, 2025), GB/s.
SEND_BANDWIDTH = {"H800": "200", "MI355X": "537.6"}
# Sources that state the sizes of one rank's shard, and those whose file names state N and K over
# all ranks.
PER_RANK = ("meta-pytorch/kraken", "flagos-ai/FlagTree", "pytorch/pytorch", "sgl-project/sglang")
NAMED = {"bytedance/flux issue #90 comment 2025-04-06": ("8192", "28672")}
COLLECTIVES = {
    "all_gather": "all_gather",
    "all_gather+scatter": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "topk_reduce+reduce_scatter": "reduce_scatter",
    "all_reduce": "all_reduce",
    "all_reduce (multimem)": "all_reduce",
}
# Overlap strategy of each policy, and whether GEMM and collective are decomposed into one kernel
# for each rank's shard. `streams` are those of a benchmark that starts the collective first.
STRATEGIES = {
    "streams": ("prioritized", "false"),
    "streams-pipelined": ("fused", "true"),
    "fused": ("fused", "false"),
    "fused-sm-partition": ("partitioned", "false"),
}
INDEPENDENT = "pytorch/pytorch PR #172714"


def _stated(r: Row, *names: str) -> None:
    for name in names:
        if not r[name]:
            raise Undescribed(f"the source does not state {name}")


def _sizes(r: Row) -> tuple[int, int, int, int]:
    """M, N, K and batch of a rank's GEMM."""
    gathers, ranks = r["comm_op"].startswith("all_gather"), int(r["n_gpus"])
    if r["source"] in NAMED and not gathers:
        r = r | dict(zip("nk", NAMED[r["source"]], strict=True))
    _stated(r, *"mnk")
    m, n, k = int(r["m"]), int(r["n"]), int(r["k"])
    if r["compute_op"].startswith("grouped"):
        said = dict(part.strip().split("=") for part in r["note"].split(";")[0].split(","))
        tensor, each = int(said["TP"]), int(said["num_experts"])
        rows, batch = m * int(said["topk"]) // each, each // int(said["EP"])
        return (rows, n // tensor, k, batch) if gathers else (rows, n, k // tensor, batch)
    if r["source"].startswith(PER_RANK):
        own_rows = gathers and r["source"].startswith("meta-pytorch")
        return (ranks * m if own_rows else m), n, k, 1
    return (m, n // ranks, k, 1) if gathers else (m, n, k // ranks, 1)


def _message(r: Row, sizes: tuple[int, int, int, int]) -> int:
    """Bytes of the whole message in 16 bits: all rows of the input, or of the result."""
    if r["comm_bytes"]:
        return int(r["comm_bytes"]) * int(r["n_gpus"])
    rows = int(r["m"]) if r["compute_op"].startswith("grouped") else sizes[0]
    inner = sizes[2] if r["comm_op"].startswith("all_gather") else sizes[1]
    return 2 * rows * inner


def _row(r: Row, measured: str) -> Row:
    _stated(r, "gpu", "n_gpus", measured)
    if "sums over" in r["note"]:
        raise Undescribed("a total over an unstated number of runs")
    if "rank" in r["note"] and "rank 0" not in r["note"] and r["source"].startswith("bytedance"):
        raise Undescribed("another rank of the same run")
    machine = component(r["gpu"].partition("/")[0])
    if r["comm_op"] not in COLLECTIVES:
        raise Undescribed(f"no collective is called `{r['comm_op']}`")
    sizes = _sizes(r)
    bandwidth, _, path, reduces = PATHS.get(machine, ("", "", "point_to_point", "false"))
    dependent = r["source"] != INDEPENDENT
    default = ("fused" if dependent else "dma_offload", "false")
    strategy, decomposed = STRATEGIES.get(r["policy"], default)
    return {
        "case": f"{r['source']} {r['m']} {r['n']} {r['k']} {r['comm_op']} {r['policy']}",
        "source": " ".join(r["source"].split()[:3]),
        "accelerator": machine,
        **dict(zip(("m", "n", "k", "batch"), map(str, sizes), strict=True)),
        "collective": COLLECTIVES[r["comm_op"]],
        "message_size [B]": str(_message(r, sizes)),
        "ranks": r["n_gpus"],
        "bandwidth": SEND_BANDWIDTH.get(r["gpu"], bandwidth),
        "path_type": path,
        "in_network_reduction": reduces if r["comm_op"].startswith("all_reduce") else "false",
        "overlap_strategy": strategy,
        "decomposed": decomposed,
        "measured": str(float(r[measured]) * 1000),
    }


def _rows(fp8: bool) -> list[Row]:
    return [r for r in read("contention") if (r["dtype"] in ("fp8", "nvfp4")) == fp8]


def overlapped(fp8: bool) -> list[Row]:
    """Rows of the GEMM and the collective overlapped; in 8 bits if `fp8`."""
    return converted(_rows(fp8), lambda r: _row(r, "t_concurrent_ms"))


def serial(fp8: bool) -> list[Row]:
    """Rows of the GEMM and the collective in series, each once; in 8 bits if `fp8`."""

    def make(r: Row) -> Row:
        if "not optimized" in r["note"]:
            raise Undescribed("a baseline that its source calls not optimized")
        return _row(r, "t_serial_ms")

    found: dict[str, Row] = {}
    for index, row in enumerate(converted(_rows(fp8), make)):
        key = str(index)
        if LEFT_OUT not in row:
            key = " ".join(
                row[name] for name in row if name not in ("case", "overlap_strategy", "decomposed")
            )
        found.setdefault(key, row)
    return list(found.values())


def _set(name: str, fp8: bool, *, output: str, baseline: str) -> Set:
    rows = serial if output == "serial" else overlapped
    title = f"contention, {name}{', 8 bits' if fp8 else ''}"
    evaluator = "gemm_collective_overlap_fp8" if fp8 else "gemm_collective_overlap"
    fits = output == "time" and not fp8
    return Set(title, "studies/gemm_collective_overlap.hw", evaluator, lambda: rows(fp8), "us",
               output=output, baseline=baseline, group="source",
               fitted="one coefficient, of fused kernels" if fits else "none",
               coefficients=("fused_gemm_slowdown",) if fits else ())  # fmt: skip


SETS = (
    _set("serial", False, output="serial", baseline="baseline"),
    _set("serial", True, output="serial", baseline="baseline"),
    _set("overlapped", False, output="time", baseline="serial"),
    _set("overlapped", True, output="time", baseline="serial"),
    _set("ideal overlap", False, output="ideal", baseline="serial"),
)
