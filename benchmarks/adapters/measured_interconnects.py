"""Adapters of tables measured on Alps, Leonardo, LUMI and nodes like theirs, for the study of interconnects."""

from collections.abc import Callable

from machines import Undescribed
from measured import Row, Set, converted, read

FOLDER = "systems"
KIBIBYTE = 1024
# Messages from this size: smaller ones are copied through buffers, which the study has not.
RENDEZVOUS = 64 * KIBIBYTE
# Nodes of Snellius have the same GPUs and links between a pair as Leonardo and Alps.
PAIRS = {"gpu-a100": "A100_pair", "gpu-h100": "GH200_pair"}
TIERS = {
    "4 links intra-package (0-1)": "MI250X_package",
    "2 links (0-6)": "MI250X_two_links",
    "1 link (0-2)": "MI250X_one_link",
    "routed (0-7)": "MI250X_routed",
}
# Messages in flight in osu_bw, its default.
OSU_WINDOW = "64"
# Ports that a rank uses for large messages, as its library does by default: UCX two, Cray MPICH one.
RAILS = {"leonardo": "2", "lumi": "1"}
MACHINES = {"leonardo": "Leonardo_booster", "lumi": "LUMI_G_dies"}
# Machine with the nodes of CSCS, and the GPUs of two of them.
NODES = {"gh200": ("Alps", 8), "mi200": ("LUMI_G_dies", 16)}


def _large(table: str, keep: Callable[[Row], bool]) -> list[Row]:
    rows = read(f"{FOLDER}/{table}")
    return [r for r in rows if int(r.get("size_bytes", 0)) >= RENDEZVOUS and keep(r)]


def _message(case: str, group: str, size: str, seconds: float, **given: str) -> Row:
    return {"case": case, "accelerator": group, "size [B]": size,
            "measured": str(seconds * 1e6)} | given  # fmt: skip


def _snellius(implementation: str, library: str) -> list[Row]:
    def make(r: Row) -> Row:
        return _message(f"{r['job']} {r['size_bytes']} B", f"{r['partition']} of Snellius",
                        r["size_bytes"], float(r["time_median_us"]) / 1e6,
                        gpus=PAIRS[r["partition"]], library=library)  # fmt: skip

    rows = _large(
        "row16_blink_snellius",
        lambda r: (
            (r["experiment"], r["placement"], r["implementation"])
            == ("pp", "1 node", implementation)
        ),
    )
    return converted(rows, make)


def _lumi_pairs() -> list[Row]:
    def make(r: Row) -> Row:
        size = r["size_bytes"]
        return _message(f"LUMI, {r['pair_tier']}, {r['stack']}, {size} B", "MI250X of LUMI", size,
                        float(size) / (float(r["bandwidth_GBps"]) * 1e9),
                        gpus=TIERS[r["pair_tier"]], library="mpi")  # fmt: skip

    rows = _large("row16_lumi_osu", lambda r: r["test"] == "osu_bw" and r["pair_tier"] in TIERS)
    return converted(rows, make)


def _alps_bandwidth(placement: str, **given: str) -> list[Row]:
    def make(r: Row) -> Row:
        size = r["size_bytes"]
        return _message(f"Alps, {r['library']}, {r['buffers']}, {size} B", "GH200 of Alps", size,
                        float(size) / (float(r["bandwidth_MBps"]) * 1e6), **given)  # fmt: skip

    wanted = ("local", "MPICH", "device") if placement == "1 node" else None
    rows = _large(
        "row16_alps_cscs_docs",
        lambda r: (
            r["test"] == "osu_bw"
            and r["placement"] == placement
            and (
                (r["network_path"], r["library"], r["buffers"]) == wanted
                if wanted
                else r["network_path"] == "CXI"
            )
        ),
    )
    return converted(rows, make)


def pairs_by_mpi() -> list[Row]:
    """Messages of MPI between two GPUs of a node: ping-pong on Snellius, osu_bw on LUMI and Alps."""
    alps = _alps_bandwidth("1 node", gpus="GH200_pair", library="mpi")
    return [*_snellius("CudaAware", "mpi"), *_lumi_pairs(), *alps]


def pairs_by_nccl() -> list[Row]:
    """Messages of NCCL between two GPUs of a node of Snellius."""
    return _snellius("Nccl", "xccl")


def node_pairs() -> list[Row]:
    """Messages of MPI between two nodes over one port: osu_bw on Alps and LUMI."""
    alps = _alps_bandwidth("2 nodes", machine="Alps", library="mpi", window=OSU_WINDOW)

    def make(r: Row) -> Row:
        size = r["size_bytes"]
        return _message(f"LUMI, {r['stack']}, {size} B", "LUMI", size,
                        float(size) / (float(r["bandwidth_GBps"]) * 1e9),
                        machine="LUMI_G_dies", library="mpi", window=OSU_WINDOW)  # fmt: skip

    lumi = _large("row16_lumi_osu", lambda r: (r["test"], r["scope"]) == ("osu_bw", "2 nodes"))
    return [*alps, *converted(lumi, make)]


def _job(case: str, group: str, machine: str, gpus: int, size: str, seconds: float) -> Row:
    """An all-reduce of GPUs on two nodes."""
    return {"case": case, "accelerator": group, "machine": machine, "operation": "reduce_all",
            "gpus": str(gpus), "one_of_each_node": "true" if gpus == 2 else "false",
            "size [B]": size, "measured": str(seconds * 1e6)}  # fmt: skip


def all_reduce_of_alps() -> list[Row]:
    """All-reduces of NCCL on two nodes of Alps over the network's own transport."""

    def make(r: Row) -> Row:
        return _job(f"{r['placement']}, {r['size_bytes']} B", f"Alps, {r['placement']}", "Alps",
                    int(r["ranks"]), r["size_bytes"], float(r["latency_us"]) / 1e6)  # fmt: skip

    rows = [
        r
        for r in read(f"{FOLDER}/row16_alps_cscs_docs")
        if r["library"] == "NCCL" and "CXI" in r["network_path"]
    ]
    return converted((r for r in rows if int(r["size_bytes"]) >= KIBIBYTE), make)


def accepted_all_reduce() -> list[Row]:
    """All-reduces of 1 GiB that CSCS accepts its node types by, on two nodes."""

    def make(r: Row) -> Row:
        if r["node"] not in NODES:
            raise Undescribed(f"the library has no cluster of the nodes `{r['node']}` of CSCS")
        machine, gpus = NODES[r["node"]]
        traffic = 2 * (gpus - 1) / gpus * float(r["size_bytes"])
        return _job(r["node"], r["node"], machine, gpus, r["size_bytes"],
                    traffic / (float(r["avg_busbw_GBps"]) * 1e9))  # fmt: skip

    rows = (r for r in read(f"{FOLDER}/row16_cscs_xccl_reference") if r["test"] == "all_reduce")
    return converted(rows, make)


def die_all_to_all() -> list[Row]:
    """All-to-alls of Cray MPICH among the dies of a node of LUMI, of two measuring campaigns."""

    def make(r: Row) -> Row:
        return {
            "case": f"{r['scope']}, {r['gcds']} dies, {r['size_bytes']} B",
            "accelerator": f"{r['scope']}, {r['gcds']} dies",
            "ranks": r["gcds"],
            "message_size [B]": r["size_bytes"],
            "measured": r["latency_us"],
        }

    rows = _large(
        "row16_lumi_osu", lambda r: (r["test"], r["stack"]) == ("osu_alltoall", "Cray MPICH")
    )
    return converted(rows, make)


def host_all_gather() -> list[Row]:
    """Ring all-gathers of MPI in host memory, one rank to a node, with chunks of at least 64 KiB.
    Rows whose note contradicts their number of ranks are left out."""

    def make(r: Row) -> Row:
        if "tasks per node" in r["note"]:
            raise Undescribed(f"number of ranks in doubt: {r['note']}")
        return {
            "case": f"{r['machine']} {r['timestamp']} {r['algorithm']} {r['total_buffer_bytes']} B",
            "accelerator": f"{r['machine']}, {r['nodes']} nodes",
            "machine": MACHINES[r["machine"]],
            "nodes": r["nodes"],
            "rails": RAILS[r["machine"]],
            "size [B]": r["total_buffer_bytes"],
            "measured": r["median_us"],
        }

    rows = (
        r
        for r in read(f"{FOLDER}/row16_pico_leonardo_lumi_mn5")
        if r["machine"] in MACHINES
        and (r["collective"], r["ranks_per_node"], r["buffers"]) == ("allgather", "1", "host")
        and r["algorithm"].startswith("ring")
        and int(r["total_buffer_bytes"]) >= RENDEZVOUS * int(r["nodes"])
    )
    return converted(rows, make)


_STUDY = "studies/interconnects.hw"
SETS = (
    Set("row16, GPU pairs, MPI", _STUDY, "pair", pairs_by_mpi, "us", fitted="latency: all but GH200",
        coefficients=("copy_latency",)),
    Set("row16, GPU pairs, NCCL", _STUDY, "pair", pairs_by_nccl, "us"),
    Set("row16, node pairs, MPI", _STUDY, "node_pair", node_pairs, "us", fitted="efficiency: all"),
    Set("row16, all-reduce on two nodes, NCCL", _STUDY, "job_collective", all_reduce_of_alps, "us"),
    Set("row16, all-reduce of 1 GiB on two nodes", _STUDY, "job_collective", accepted_all_reduce,
        "us"),
    Set("row16, all-to-all in a node, MPI", _STUDY, "die_all_to_all", die_all_to_all, "us"),
    Set("row16, all-gather in host memory, MPI", _STUDY, "host_all_gather", host_all_gather, "us"),
)  # fmt: skip
