"""Published tables of collectives, as the study of collectives reads them."""

from measured import Row, Set, read

MEGABYTE = 1e6

# What one rank sends in one direction, the rate of its memory (GB/s), how ranks are joined, and
# whether the switch adds; from the datasheets.
JOINED = {
    "A100-SXM4-80GB": ("300", "2039", "switched", "false"),
    "A100-SXM4 (NVSwitch, 8-GPU node)": ("300", "2039", "switched", "false"),
    "DGX A100 8x80GB": ("300", "2039", "switched", "false"),
    "H100-SXM5-80GB": ("450", "3350", "switched", "true"),
    "DGX H100 8x": ("450", "3350", "switched", "true"),
    "B200-SXM-180GB": ("900", "8000", "switched", "true"),
    "GB300 (NVL72)": ("900", "8000", "switched", "true"),
    "RTX PRO 6000 Blackwell Server": ("63", "1792", "bridged", "false"),
    "P100-PCIe-16GB": ("15.75", "732", "bridged", "false"),
    "TitanX-Maxwell": ("15.75", "336", "bridged", "false"),
    "TitanX-Pascal": ("15.75", "480", "below_switch", "false"),
    "GTX1080Ti": ("15.75", "484", "below_switch", "false"),
}
PORTS = {"DGX A100 8x80GB": "25", "DGX H100 8x": "50"}
OPERATIONS = {
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "all_reduce": "all_reduce",
    "send_recv": "send",
}


def _row(case: str, machine: str, operation: str, ranks: str, size: str, taken: str) -> Row:
    """A row of `collective` over one tier of a machine; `taken` in microseconds."""
    wire, memory, joint, adds = JOINED[machine]
    return {
        "case": case,
        "machine": machine,
        "operation": operation,
        "ranks": ranks,
        "size [B]": size,
        "wire": wire,
        "lane": wire,
        "memory": memory,
        "joined": joint,
        "adds": adds,
        "measured": taken,
    }


def nccl(joint: str, *, least: float = 0) -> list[Row]:
    """NCCL in aic_collectives on machines so joined, messages of more than `least` bytes."""
    return [
        _row(r["row_id"], r["gpu"], OPERATIONS[r["collective"]], r["n_gpus"], r["message_bytes"],
             r["meas_time_us"])
        for r in read("aic_collectives")
        if r["library"].startswith("nccl")
        and r["gpu"] in JOINED
        and JOINED[r["gpu"]][2] == joint
        and float(r["message_bytes"]) > least
    ]  # fmt: skip


def own_kernels() -> list[Row]:
    """All-reduce by the direct kernels of serving libraries, switched nodes of aic_collectives."""
    return [
        _row(r["row_id"], r["gpu"], "direct", r["n_gpus"], r["message_bytes"], r["meas_time_us"])
        for r in read("aic_collectives")
        if r["library"].endswith("custom")
        and r["gpu"] in JOINED
        and JOINED[r["gpu"]][2] == "switched"
    ]


def vtrain_switched() -> list[Row]:
    """All-reduce of vtrain_nccl_allreduce on A100."""
    return [
        _row(r["row_id"], r["gpu"], "all_reduce", r["n_gpus"], r["size_bytes"],
             r["meas_time_us_out_of_place"])
        for r in read("vtrain_nccl_allreduce")
        if r["gpu"].startswith("A100")
    ]  # fmt: skip


def vtrain_cube() -> list[Row]:
    """All-reduce of vtrain_nccl_allreduce on V100, whose cables are a hybrid cube mesh."""
    return [
        {
            "case": r["row_id"],
            "group": f"V100, {r['n_gpus']} ranks",
            "ranks": r["n_gpus"],
            "size [B]": r["size_bytes"],
            "measured": r["meas_time_us_out_of_place"],
        }
        for r in read("vtrain_nccl_allreduce")
        if r["gpu"].startswith("V100")
    ]


def vidur() -> list[Row]:
    """DGX of vidur_collectives from 8 MB on: one node, or one rank in each of two nodes."""
    rows = []
    for r in read("vidur_collectives"):
        ranks, nodes = int(r["n_gpus"]), int(r["n_nodes"])
        apart = nodes == ranks
        if r["node"] not in PORTS or float(r["size_bytes"]) < 8 * MEGABYTE:
            continue
        if nodes > 1 and not apart:
            continue  # some ranks share a node: two tiers, which this evaluator does not have
        row = _row(r["row_id"], r["node"], OPERATIONS[r["collective"]], r["n_gpus"],
                   r["size_bytes"], str(float(r["meas_time_ms_median"]) * 1000))  # fmt: skip
        if apart:
            port = PORTS[r["node"]]
            row |= {"machine": f"{r['node']}, two nodes", "wire": port, "lane": port,
                    "joined": "network", "adds": "false"}  # fmt: skip
        rows.append(row)
    return rows


def deepbench() -> list[Row]:
    """All-reduce of deepbench_allreduce by NCCL up to 8 ranks, cards on PCIe 3."""
    return [
        _row(r["row_id"], r["device"], "all_reduce", r["n_devices"], r["size_bytes"],
             str(float(r["meas_time_ms"]) * 1000))
        for r in read("deepbench_allreduce")
        if r["device"] in JOINED and "NCCL" in r["algorithm"] and int(r["n_devices"]) <= 8
    ]  # fmt: skip


def experts() -> list[Row]:
    """Rates of deepep_alltoall between nodes: tokens in 8 bits with scales out, in 16 bits back."""
    return [
        {
            "case": r["row_id"],
            "kernels": f"{r['kernel']} {r['variant']}".strip(),
            "ranks": r["ep"],
            "tokens": r["tokens_per_rank"],
            "width [B]": str(int(r["hidden"]) * 33 // 32) if r["op"] == "dispatch"
            else str(2 * int(r["hidden"])),
            "chosen": r["topk"],
            "measured": r["meas_bottleneck_gb_s"],
        }
        for r in read("deepep_alltoall")
        if r["gpu"] == "H800" and r["bottleneck"] == "RDMA"
    ]  # fmt: skip


_STUDY = "studies/collectives.hw"
_SWITCHED = ("switched_share", "copy_share", "word_start", "word_hop", "word_share", "start", "hop",
             "chunk", "adding_share", "adding_start")  # fmt: skip
SETS = (
    Set("aic_collectives, switched", _STUDY, "collective", lambda: nccl("switched"), "us",
        fitted="all", coefficients=_SWITCHED),
    Set("aic_collectives, switched, above 1 MB", _STUDY, "collective",
        lambda: nccl("switched", least=MEGABYTE), "us", fitted="all", coefficients=_SWITCHED),
    Set("aic_collectives, own kernels", _STUDY, "collective", own_kernels, "us",
        fitted="up to 1 MB"),
    Set("aic_collectives, PCIe, above 1 MB", _STUDY, "collective",
        lambda: nccl("bridged", least=MEGABYTE), "us", fitted="4 and 8 ranks"),
    Set("vtrain_nccl_allreduce, A100", _STUDY, "collective", vtrain_switched, "us"),
    Set("vtrain_nccl_allreduce, V100", _STUDY, "cube", vtrain_cube, "us", baseline=None,
        group="group", fitted="2 ranks"),
    Set("vidur_collectives, DGX, from 8 MB", _STUDY, "collective", vidur, "us"),
    Set("deepbench_allreduce", _STUDY, "collective", deepbench, "us",
        fitted="Titan X Pascal, 2 and 4 ranks"),
    Set("deepep_alltoall, between nodes", _STUDY, "experts", experts, "GB/s", output="rate",
        baseline=None, group="kernels", fitted="low latency"),
)  # fmt: skip
