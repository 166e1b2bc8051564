"""Adapters of published tables of collectives, for the study of collectives."""

from machines import Undescribed, component
from measured import LEFT_OUT, Row, Set, converted, read

MEGABYTE = 1e6

# Bandwidth of a rank in one direction and of its memory (GB/s), the type of path between ranks, and
# whether the switch reduces in the network; from the datasheets. PCIe cards communicate over the
# PCIe host bridge; cards without peer-to-peer access, and those of 2017 and before below two root
# complexes, through host memory.
PATHS = {
    "A100_SXM_80GB": ("300", "2039", "switched", "false"),
    "A100_SXM_40GB": ("300", "1555", "switched", "false"),
    "H100_SXM_80GB": ("450", "3350", "switched", "true"),
    "H200_SXM_141GB": ("450", "4800", "switched", "true"),
    "H20": ("450", "4000", "switched", "true"),
    "B200_SXM_180GB": ("900", "8000", "switched", "true"),
    "B300_SXM_288GB": ("900", "8000", "switched", "true"),
    "GB200_GPU": ("900", "8000", "switched", "true"),
    "GB300_GPU": ("900", "8000", "switched", "true"),
    "RTX_PRO_6000": ("63", "1597", "pcie_host_bridge", "false"),
    "H100_PCIe_80GB": ("63", "2000", "pcie_host_bridge", "false"),
    "A100_PCIe_80GB": ("31.5", "1935", "pcie_host_bridge", "false"),
    "A100_PCIe_40GB": ("31.5", "1555", "pcie_host_bridge", "false"),
    "A40": ("31.5", "696", "pcie_host_bridge", "false"),
    "A30": ("31.5", "933", "pcie_host_bridge", "false"),
    "A10": ("31.5", "600", "pcie_host_bridge", "false"),
    "L4": ("31.5", "300", "pcie_host_bridge", "false"),
    "L40": ("31.5", "864", "pcie_host_bridge", "false"),
    "L40S": ("31.5", "864", "pcie_host_bridge", "false"),
    "RTX_4090": ("31.5", "1008", "host_memory", "false"),
    "RTX_3090": ("31.5", "936", "host_memory", "false"),
    "P100_PCIe": ("15.75", "732", "host_memory", "false"),
    "V100_PCIe": ("15.75", "900", "host_memory", "false"),
    "M40": ("15.75", "288", "host_memory", "false"),
    "Titan_X_Maxwell": ("15.75", "336", "host_memory", "false"),
    "Titan_X_Pascal": ("15.75", "480", "pcie_switch", "false"),
    "GTX_1080_Ti": ("15.75", "484", "pcie_switch", "false"),
}
# Clock (MHz) and number of compute dies of one GPU; from the datasheets.
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
# Network bandwidth of a node for each of its ranks (GB/s).
NETWORK_BANDWIDTH = {"A100_SXM_80GB": "25", "H100_SXM_80GB": "50", "H200_SXM_141GB": "50",
         "B200_SXM_180GB": "50", "B300_SXM_288GB": "100"}  # fmt: skip
# PCIe cards with NVLink bridges between pairs, or with an unstated number of bridges: the study
# has no such interconnect.
NVLINK_BRIDGES = ("bridge", "pairwise")
OPERATIONS = {
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "all_reduce": "all_reduce",
    "send_recv": "send_recv",
}


def _operation(stated: str) -> str:
    if stated not in OPERATIONS:
        raise Undescribed(f"no collective is called `{stated}`")
    return OPERATIONS[stated]


def _path(machine: str) -> tuple[str, str, str, str, str, str]:
    if any(word in machine.lower() for word in NVLINK_BRIDGES):
        raise Undescribed(f"the study has no NVLink bridges, as in `{machine}`")
    found = component(machine)
    if found not in PATHS:
        raise Undescribed(f"the paths between ranks of `{machine}` are not stated")
    return *PATHS[found], *CLOCKS[found]


def _row(case: str, machine: str, operation: str, ranks: str, size: str, time: str) -> Row:
    """A row of `collective` over one interconnect of a machine; `time` in microseconds."""
    bandwidth, memory_bandwidth, path_type, in_network, clock, compute_dies = _path(machine)
    return {
        "case": case,
        "accelerator": machine,
        "operation": operation,
        "ranks": ranks,
        "size [B]": size,
        "bandwidth": bandwidth,
        "link_bandwidth": bandwidth,
        "memory_bandwidth": memory_bandwidth,
        "path_type": path_type,
        "in_network_reduction": in_network,
        "clock [MHz]": clock,
        "compute_dies": compute_dies,
        "measured": time,
    }


def nccl(path_type: str, *, minimum: float = 0) -> list[Row]:
    """NCCL in aic_collectives over one path type, messages of more than `minimum` bytes. Machines
    whose paths are not stated are counted with those behind a switch."""

    def make(r: Row) -> Row:
        return _row(r["row_id"], r["gpu"], _operation(r["collective"]), r["n_gpus"],
                    r["message_bytes"], r["meas_time_us"])  # fmt: skip

    rows = converted((r for r in read("aic_collectives") if "ccl" in r["library"]), make)
    return _with_path(_larger_than(minimum, rows), path_type)


def _larger_than(minimum: float, rows: list[Row]) -> list[Row]:
    return [r for r in rows if LEFT_OUT in r or float(r["size [B]"]) > minimum]


def _with_path(rows: list[Row], path_type: str) -> list[Row]:
    """Rows with one path type; rows left out are counted once, with those behind a switch."""
    return [r for r in rows if r.get("path_type", "switched") == path_type]


def nccl_pcie() -> list[Row]:
    """NCCL in aic_collectives over PCIe host bridges, above 1 MB; all rows of a group have the same
    number of ranks."""
    rows = nccl("pcie_host_bridge", minimum=MEGABYTE)
    return [
        r if LEFT_OUT in r else r | {"accelerator": f"{r['accelerator']}, {r['ranks']} ranks"}
        for r in rows
    ]


def custom_all_reduce() -> list[Row]:
    """All-reduce of serving libraries on switched nodes of aic_collectives: their one-shot kernels,
    or NCCL where that is faster."""

    def make(r: Row) -> Row:
        return _row(r["row_id"], r["gpu"], "best_all_reduce", r["n_gpus"], r["message_bytes"],
                    r["meas_time_us"])  # fmt: skip

    rows = converted((r for r in read("aic_collectives") if r["library"].endswith("custom")), make)
    return _with_path(rows, "switched")


def vtrain_switched() -> list[Row]:
    """All-reduce of vtrain_nccl_allreduce behind a switch."""

    def make(r: Row) -> Row:
        return _row(r["row_id"], r["gpu"], "all_reduce", r["n_gpus"], r["size_bytes"],
                    r["meas_time_us_out_of_place"])  # fmt: skip

    rows = (r for r in read("vtrain_nccl_allreduce") if not r["gpu"].startswith("V100"))
    return converted(rows, make)


def vtrain_cube() -> list[Row]:
    """All-reduce of vtrain_nccl_allreduce on V100, whose NVLinks form a hybrid cube mesh."""

    def make(r: Row) -> Row:
        return {
            "case": r["row_id"],
            "group": f"V100, {r['n_gpus']} ranks",
            "ranks": r["n_gpus"],
            "size [B]": r["size_bytes"],
            "measured": r["meas_time_us_out_of_place"],
        }

    rows = (r for r in read("vtrain_nccl_allreduce") if r["gpu"].startswith("V100"))
    return converted(rows, make)


def vidur() -> list[Row]:
    """Nodes of vidur_collectives from 8 MB: one node, or one rank in each of two nodes."""

    def make(r: Row) -> Row:
        ranks, nodes = int(r["n_gpus"]), int(r["n_nodes"])
        row = _row(r["row_id"], r["node"], _operation(r["collective"]), r["n_gpus"],
                   r["size_bytes"], str(float(r["meas_time_ms_median"]) * 1000))  # fmt: skip
        if nodes == 1:
            return row
        if nodes != ranks:
            raise Undescribed("several ranks in each of several nodes: two interconnects, not one")
        machine = component(r["node"])
        if machine not in NETWORK_BANDWIDTH:
            raise Undescribed(f"the network of `{r['node']}` is not stated")
        bandwidth = NETWORK_BANDWIDTH[machine]
        return row | {
            "accelerator": f"{r['node']}, two nodes",
            "bandwidth": bandwidth,
            "link_bandwidth": bandwidth,
            "path_type": "network",
            "in_network_reduction": "false",
        }

    return _larger_than(8 * MEGABYTE - 1, converted(read("vidur_collectives"), make))


def deepbench() -> list[Row]:
    """All-reduce of deepbench_allreduce by NCCL on up to 8 ranks, cards on PCIe 3."""

    def make(r: Row) -> Row:
        return _row(r["row_id"], r["device"], "all_reduce", r["n_devices"], r["size_bytes"],
                    str(float(r["meas_time_ms"]) * 1000))  # fmt: skip

    rows = converted((r for r in read("deepbench_allreduce") if "NCCL" in r["algorithm"]), make)
    return [r for r in rows if LEFT_OUT in r or int(r["ranks"]) <= 8]


def expert_all_to_all() -> list[Row]:
    """Bandwidths of deepep_alltoall between nodes: the dispatch sends tokens in FP8 with their
    scales, the combine sends them in 16 bits."""

    def make(r: Row) -> Row:
        return {
            "case": r["row_id"],
            "kernels": f"{r['kernel']} {r['variant']}".strip(),
            "ranks": r["ep"],
            "tokens": r["tokens_per_rank"],
            "token_size [B]": str(int(r["hidden"]) * 33 // 32)
            if r["op"] == "dispatch"
            else str(2 * int(r["hidden"])),
            "moe_top_k": r["topk"],
            "measured": r["meas_bottleneck_gb_s"],
        }

    between = (r for r in read("deepep_alltoall") if r["bottleneck"] == "RDMA")
    return converted((r for r in between if r["gpu"] == "H800"), make)


_STUDY = "studies/collectives.hw"
_SWITCHED = ("switched_efficiency", "local_copy_efficiency", "multi_die_overhead", "launch_cycles",
             "ll_hop_cycles", "ll_bandwidth_ratio", "simple_hop_cycles", "chunk_cycles",
             "in_network_efficiency", "in_network_launch_cycles")  # fmt: skip
_PCIE = ("host_bridge_efficiency", "host_bridge_bandwidth")
SETS = (
    Set("aic_collectives, switched", _STUDY, "collective", lambda: nccl("switched"), "us",
        fitted="all", coefficients=_SWITCHED),
    Set("aic_collectives, switched, above 1 MB", _STUDY, "collective",
        lambda: nccl("switched", minimum=MEGABYTE), "us", fitted="all", coefficients=_SWITCHED),
    Set("aic_collectives, custom kernels", _STUDY, "collective", custom_all_reduce, "us",
        fitted="up to 1 MB"),
    Set("aic_collectives, PCIe, above 1 MB", _STUDY, "collective",
        nccl_pcie, "us", fitted="all", coefficients=_PCIE),
    Set("vtrain_nccl_allreduce, A100", _STUDY, "collective", vtrain_switched, "us"),
    Set("vtrain_nccl_allreduce, V100", _STUDY, "dgx1_cube_mesh", vtrain_cube, "us", baseline=None,
        group="group", fitted="2 ranks"),
    Set("vidur_collectives, DGX, from 8 MB", _STUDY, "collective", vidur, "us"),
    Set("deepbench_allreduce", _STUDY, "collective", deepbench, "us",
        fitted="P100; Titan X Pascal, 2 and 4 ranks"),
    Set("deepep_alltoall, between nodes", _STUDY, "ep_dispatch_combine", expert_all_to_all, "GB/s",
        output="algorithm_bandwidth", baseline=None, group="kernels", fitted="low latency"),
)  # fmt: skip
