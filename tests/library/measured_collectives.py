"""Published tables of collectives, as the study of collectives reads them."""

from machines import Undescribed, component
from measured import LEFT_OUT, Row, Set, read, turned

MEGABYTE = 1e6

# What one rank sends in one direction, the rate of its memory (GB/s), how ranks are joined, and
# whether the switch adds; from the datasheets. Cards are behind bridges of their host; those
# without access to each other's memory, and those of 2017 and before behind two roots, go through
# its memory.
JOINED = {
    "A100_SXM_80GB": ("300", "2039", "switched", "false"),
    "A100_SXM_40GB": ("300", "1555", "switched", "false"),
    "H100_SXM_80GB": ("450", "3350", "switched", "true"),
    "H200_SXM_141GB": ("450", "4800", "switched", "true"),
    "H20": ("450", "4000", "switched", "true"),
    "B200_SXM_180GB": ("900", "8000", "switched", "true"),
    "B300_SXM_288GB": ("900", "8000", "switched", "true"),
    "GB200_GPU": ("900", "8000", "switched", "true"),
    "GB300_GPU": ("900", "8000", "switched", "true"),
    "RTX_PRO_6000": ("63", "1597", "bridged", "false"),
    "H100_PCIe_80GB": ("63", "2000", "bridged", "false"),
    "A100_PCIe_80GB": ("31.5", "1935", "bridged", "false"),
    "A100_PCIe_40GB": ("31.5", "1555", "bridged", "false"),
    "A40": ("31.5", "696", "bridged", "false"),
    "A30": ("31.5", "933", "bridged", "false"),
    "A10": ("31.5", "600", "bridged", "false"),
    "L4": ("31.5", "300", "bridged", "false"),
    "L40": ("31.5", "864", "bridged", "false"),
    "L40S": ("31.5", "864", "bridged", "false"),
    "RTX_4090": ("31.5", "1008", "relayed", "false"),
    "RTX_3090": ("31.5", "936", "relayed", "false"),
    "P100_PCIe": ("15.75", "732", "relayed", "false"),
    "V100_PCIe": ("15.75", "900", "relayed", "false"),
    "M40": ("15.75", "288", "relayed", "false"),
    "Titan_X_Maxwell": ("15.75", "336", "relayed", "false"),
    "Titan_X_Pascal": ("15.75", "480", "below_switch", "false"),
    "GTX_1080_Ti": ("15.75", "484", "below_switch", "false"),
}
# Their clocks (MHz) and dies that compute as one; from the datasheets.
CLOCKS = {
    "A100_SXM_80GB": ("1410", "1"),
    "A100_SXM_40GB": ("1410", "1"),
    "H100_SXM_80GB": ("1830", "1"),
    "H200_SXM_141GB": ("1830", "1"),
    "H20": ("1850", "1"),
    "B200_SXM_180GB": ("1860", "2"),
    "B300_SXM_288GB": ("1717", "2"),
    "GB200_GPU": ("2062", "2"),
    "GB300_GPU": ("1907", "2"),
    "RTX_PRO_6000": ("2617", "1"),
    "H100_PCIe_80GB": ("1620", "1"),
    "A100_PCIe_80GB": ("1410", "1"),
    "A100_PCIe_40GB": ("1410", "1"),
    "A40": ("1740", "1"),
    "A30": ("1440", "1"),
    "A10": ("1695", "1"),
    "L4": ("2040", "1"),
    "L40": ("2490", "1"),
    "L40S": ("2520", "1"),
    "RTX_4090": ("2520", "1"),
    "RTX_3090": ("1695", "1"),
    "P100_PCIe": ("1303", "1"),
    "V100_PCIe": ("1370", "1"),
    "M40": ("1114", "1"),
    "Titan_X_Maxwell": ("1075", "1"),
    "Titan_X_Pascal": ("1531", "1"),
    "GTX_1080_Ti": ("1582", "1"),
}
# What a node's port to the network sends, for each rank.
PORTS = {"A100_SXM_80GB": "25", "H100_SXM_80GB": "50", "H200_SXM_141GB": "50",
         "B200_SXM_180GB": "50", "B300_SXM_288GB": "100"}  # fmt: skip
# Cards on PCI Express by pairs, or with cables whose number nobody states: no tier of this study.
PAIRS = ("bridge", "pairwise")
OPERATIONS = {
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "all_reduce": "all_reduce",
    "send_recv": "send",
}


def _operation(stated: str) -> str:
    if stated not in OPERATIONS:
        raise Undescribed(f"no operation is called `{stated}`")
    return OPERATIONS[stated]


def _joined(machine: str) -> tuple[str, str, str, str, str, str]:
    if any(word in machine.lower() for word in PAIRS):
        raise Undescribed(f"nothing joins cards by pairs, as in `{machine}`")
    found = component(machine)
    if found not in JOINED:
        raise Undescribed(f"nothing is said of what joins `{machine}`")
    return *JOINED[found], *CLOCKS[found]


def _row(case: str, machine: str, operation: str, ranks: str, size: str, taken: str) -> Row:
    """A row of `collective` over one tier of a machine; `taken` in microseconds."""
    wire, memory, joint, adds, clock, compute_dies = _joined(machine)
    return {
        "case": case,
        "accelerator": machine,
        "operation": operation,
        "ranks": ranks,
        "size [B]": size,
        "bandwidth": wire,
        "link_bandwidth": wire,
        "memory_bandwidth": memory,
        "path_type": joint,
        "in_network_reduction": adds,
        "clock [MHz]": clock,
        "compute_dies": dies,
        "measured": taken,
    }


def nccl(joint: str, *, least: float = 0) -> list[Row]:
    """NCCL in aic_collectives on machines so joined, messages of more than `least` bytes. Machines
    of which nothing is said stand with those behind a switch."""

    def make(r: Row) -> Row:
        return _row(r["row_id"], r["gpu"], _operation(r["collective"]), r["n_gpus"],
                    r["message_bytes"], r["meas_time_us"])  # fmt: skip

    rows = turned((r for r in read("aic_collectives") if "ccl" in r["library"]), make)
    return _so_joined(_more_than(least, rows), joint)


def _more_than(least: float, rows: list[Row]) -> list[Row]:
    return [r for r in rows if LEFT_OUT in r or float(r["size [B]"]) > least]


def _so_joined(rows: list[Row], joint: str) -> list[Row]:
    """Rows of one joint; what was left out is counted once, with those behind a switch."""
    return [r for r in rows if r.get("path_type", "switched") == joint]


def bridged() -> list[Row]:
    """NCCL in aic_collectives over the bridges of hosts, above 1 MB; a group is of one number of
    ranks."""
    rows = nccl("bridged", least=MEGABYTE)
    return [
        r if LEFT_OUT in r else r | {"accelerator": f"{r['machine']}, {r['ranks']} ranks"}
        for r in rows
    ]


def own_kernels() -> list[Row]:
    """All-reduce of serving libraries, switched nodes of aic_collectives: by their direct kernels,
    or by NCCL where that is quicker."""

    def make(r: Row) -> Row:
        return _row(r["row_id"], r["gpu"], "quicker", r["n_gpus"], r["message_bytes"],
                    r["meas_time_us"])  # fmt: skip

    rows = turned((r for r in read("aic_collectives") if r["library"].endswith("custom")), make)
    return _so_joined(rows, "switched")


def vtrain_switched() -> list[Row]:
    """All-reduce of vtrain_nccl_allreduce behind a switch."""

    def make(r: Row) -> Row:
        return _row(r["row_id"], r["gpu"], "all_reduce", r["n_gpus"], r["size_bytes"],
                    r["meas_time_us_out_of_place"])  # fmt: skip

    rows = (r for r in read("vtrain_nccl_allreduce") if not r["gpu"].startswith("V100"))
    return turned(rows, make)


def vtrain_cube() -> list[Row]:
    """All-reduce of vtrain_nccl_allreduce on V100, whose cables are a hybrid cube mesh."""

    def make(r: Row) -> Row:
        return {
            "case": r["row_id"],
            "group": f"V100, {r['n_gpus']} ranks",
            "ranks": r["n_gpus"],
            "size [B]": r["size_bytes"],
            "measured": r["meas_time_us_out_of_place"],
        }

    rows = (r for r in read("vtrain_nccl_allreduce") if r["gpu"].startswith("V100"))
    return turned(rows, make)


def vidur() -> list[Row]:
    """Nodes of vidur_collectives from 8 MB on: one, or one rank in each of two."""

    def make(r: Row) -> Row:
        ranks, nodes = int(r["n_gpus"]), int(r["n_nodes"])
        row = _row(r["row_id"], r["node"], _operation(r["collective"]), r["n_gpus"],
                   r["size_bytes"], str(float(r["meas_time_ms_median"]) * 1000))  # fmt: skip
        if nodes == 1:
            return row
        if nodes != ranks:
            raise Undescribed("ranks that share a node beside others: two tiers, not one")
        machine = component(r["node"])
        if machine not in PORTS:
            raise Undescribed(f"nothing is said of the network of `{r['node']}`")
        port = PORTS[machine]
        return row | {"accelerator": f"{r['node']}, two nodes", "bandwidth": port, "link_bandwidth": port,
                      "path_type": "network", "in_network_reduction": "false"}  # fmt: skip

    return _more_than(8 * MEGABYTE - 1, turned(read("vidur_collectives"), make))


def deepbench() -> list[Row]:
    """All-reduce of deepbench_allreduce by NCCL up to 8 ranks, cards on PCIe 3."""

    def make(r: Row) -> Row:
        return _row(r["row_id"], r["device"], "all_reduce", r["n_devices"], r["size_bytes"],
                    str(float(r["meas_time_ms"]) * 1000))  # fmt: skip

    rows = turned((r for r in read("deepbench_allreduce") if "NCCL" in r["algorithm"]), make)
    return [r for r in rows if LEFT_OUT in r or int(r["ranks"]) <= 8]


def experts() -> list[Row]:
    """Rates of deepep_alltoall between nodes: tokens in 8 bits with scales out, in 16 bits back."""

    def make(r: Row) -> Row:
        return {
            "case": r["row_id"],
            "kernels": f"{r['kernel']} {r['variant']}".strip(),
            "ranks": r["ep"],
            "tokens": r["tokens_per_rank"],
            "width [B]": str(int(r["hidden"]) * 33 // 32)
            if r["op"] == "dispatch"
            else str(2 * int(r["hidden"])),
            "moe_top_k": r["topk"],
            "measured": r["meas_bottleneck_gb_s"],
        }

    between = (r for r in read("deepep_alltoall") if r["bottleneck"] == "RDMA")
    return turned((r for r in between if r["gpu"] == "H800"), make)


_STUDY = "studies/collectives.hw"
_SWITCHED = ("switched_share", "copy_share", "across", "start", "word_hop", "word_share", "hop",
             "chunked_prefill_kernel", "adding_share", "adding_start")  # fmt: skip
_BRIDGED = ("bridged_share", "host_transit")
SETS = (
    Set("aic_collectives, switched", _STUDY, "collective", lambda: nccl("switched"), "us",
        fitted="all", coefficients=_SWITCHED),
    Set("aic_collectives, switched, above 1 MB", _STUDY, "collective",
        lambda: nccl("switched", least=MEGABYTE), "us", fitted="all", coefficients=_SWITCHED),
    Set("aic_collectives, own kernels", _STUDY, "collective", own_kernels, "us",
        fitted="up to 1 MB"),
    Set("aic_collectives, PCIe, above 1 MB", _STUDY, "collective",
        bridged, "us", fitted="all", coefficients=_BRIDGED),
    Set("vtrain_nccl_allreduce, A100", _STUDY, "collective", vtrain_switched, "us"),
    Set("vtrain_nccl_allreduce, V100", _STUDY, "dgx1_cube_mesh", vtrain_cube, "us", baseline=None,
        group="group", fitted="2 ranks"),
    Set("vidur_collectives, DGX, from 8 MB", _STUDY, "collective", vidur, "us"),
    Set("deepbench_allreduce", _STUDY, "collective", deepbench, "us",
        fitted="P100; Titan X Pascal, 2 and 4 ranks"),
    Set("deepep_alltoall, between nodes", _STUDY, "experts", experts, "GB/s", output="algorithm_bandwidth",
        baseline=None, group="kernels", fitted="low latency"),
)  # fmt: skip
