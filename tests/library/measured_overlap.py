"""Published times of products and collectives at once, as the study of pairs reads them.

A rank's product is what its source runs: `kraken` gathers M rows of each rank and scatters the
result of M rows; `flux` states sizes over all ranks. Serial times stand in a table once for each
way of overlap; here they are read once.
"""

from machines import Undescribed, component
from measured import LEFT_OUT, Row, Set, read, turned
from measured_collectives import JOINED

# What one H800 sends (NVIDIA, 2023), and one MI355X over its seven links (AMD, 2025), GB/s.
WIRES = {"H800": "200", "MI355X": "537.6"}
# Sources that state sizes of one rank's part, and those whose file names say N and K of all.
LOCAL = ("meta-pytorch/kraken", "flagos-ai/FlagTree", "pytorch/pytorch", "sgl-project/sglang")
NAMED = {"bytedance/flux issue #90 comment 2025-04-06": ("8192", "28672")}
EXCHANGES = {
    "all_gather": "all_gather",
    "all_gather+scatter": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "topk_reduce+reduce_scatter": "reduce_scatter",
    "all_reduce": "all_reduce",
    "all_reduce (multimem)": "all_reduce",
}
# How each policy runs: the strategy, and whether each part has kernels of its own. Streams are
# those of a benchmark that starts the collective first.
WAYS = {
    "streams": ("prioritised", "false"),
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
    """Rows, columns, sums and batch of a rank's product."""
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
    if r["source"].startswith(LOCAL):
        own_rows = gathers and r["source"].startswith("meta-pytorch")
        return (ranks * m if own_rows else m), n, k, 1
    return (m, n // ranks, k, 1) if gathers else (m, n, k // ranks, 1)


def _message(r: Row, sizes: tuple[int, int, int, int]) -> int:
    """Bytes of the whole message, in 16 bits: all rows of the input, or of the result."""
    if r["comm_bytes"]:
        return int(r["comm_bytes"]) * int(r["n_gpus"])
    rows = int(r["m"]) if r["compute_op"].startswith("grouped") else sizes[0]
    inner = sizes[2] if r["comm_op"].startswith("all_gather") else sizes[1]
    return 2 * rows * inner


def _row(r: Row, measured: str) -> Row:
    _stated(r, "gpu", "n_gpus", measured)
    if "sums over" in r["note"]:
        raise Undescribed("times of a number of runs that is not stated")
    if "rank" in r["note"] and "rank 0" not in r["note"] and r["source"].startswith("bytedance"):
        raise Undescribed("another rank of the same run")
    machine = component(r["gpu"].partition("/")[0])
    if r["comm_op"] not in EXCHANGES:
        raise Undescribed(f"no exchange is called `{r['comm_op']}`")
    sizes = _sizes(r)
    wire, _, joined, in_network_reduction = JOINED.get(machine, ("", "", "wired", "false"))
    dependent = r["source"] != INDEPENDENT
    way = ("fused" if dependent else "offloaded", "false")
    how, decomposed = WAYS.get(r["policy"], way)
    return {
        "case": f"{r['source']} {r['m']} {r['n']} {r['k']} {r['comm_op']} {r['policy']}",
        "source": " ".join(r["source"].split()[:3]),
        "accelerator": machine,
        **dict(zip(("m", "n", "k", "batch"), map(str, sizes), strict=True)),
        "collective": EXCHANGES[r["comm_op"]],
        "message [B]": str(_message(r, sizes)),
        "ranks": r["n_gpus"],
        "bandwidth": WIRES.get(r["gpu"], wire),
        "path_type": joined,
        "in_network_reduction": adds if r["comm_op"].startswith("all_reduce") else "false",
        "overlap_strategy": how,
        "decomposed": cut,
        "measured": str(float(r[measured]) * 1000),
    }


def _rows(narrow: bool) -> list[Row]:
    return [r for r in read("contention") if (r["dtype"] in ("fp8", "nvfp4")) == narrow]


def at_once(narrow: bool) -> list[Row]:
    """Rows of both at once; in 8 bits where `narrow`."""
    return turned(_rows(narrow), lambda r: _row(r, "t_concurrent_ms"))


def in_turn(narrow: bool) -> list[Row]:
    """Rows of one after the other, each once."""

    def make(r: Row) -> Row:
        if "not optimized" in r["note"]:
            raise Undescribed("a baseline that its source calls not optimised")
        return _row(r, "t_serial_ms")

    found: dict[str, Row] = {}
    for index, row in enumerate(turned(_rows(narrow), make)):
        key = str(index)
        if LEFT_OUT not in row:
            key = " ".join(
                row[name] for name in row if name not in ("case", "overlap_strategy", "decomposed")
            )
        found.setdefault(key, row)
    return list(found.values())


def _set(name: str, narrow: bool, *, output: str, baseline: str) -> Set:
    rows = in_turn if output == "serial" else at_once
    return Set(f"contention, {name}{', 8 bits' if narrow else ''}", "studies/gemm_collective_overlap.hw",
               "gemm_collective_overlap_fp8" if narrow else "gemm_collective_overlap", lambda: rows(narrow), "us", output=output,
               baseline=baseline, group="source")  # fmt: skip


SETS = (
    _set("in turn", False, output="serial", baseline="baseline"),
    _set("in turn", True, output="serial", baseline="baseline"),
    _set("at once", False, output="time", baseline="serial"),
    _set("at once", True, output="time", baseline="serial"),
    _set("the longer of the two", False, output="ideal", baseline="serial"),
)
