"""Adapters of the cycles of applications on QV100 that Accel-Sim publishes beside its simulators.

Of CUTLASS's GEMMs the cycles are predicted, and, as GOLDYLOC asks for waves, their ratio to that of
one column of tiles. The applications that are left out have no size in their names, or kernels that
the library does not describe.
"""

from measured import Row, Set, read

# GEMM of one column of tiles, to which the others of its kernel are related.
SIZE, COLUMNS = "2560", "128"


def _gemms() -> list[Row]:
    """All runs have M = K. The group has the kernel."""
    return [
        {"case": f"{row['kernel']} {row['m']} x {row['n']} x {row['k']}",
         "accelerator": row["kernel"], "kernel": row["kernel"],
         "size": row["m"], "n": row["n"], "measured": row["meas_hw_cycles"]}
        for row in read("systems/qv100_cutlass_gemm_cycles")
        if row["m"] == row["k"]
    ]  # fmt: skip


def _wide_gemms() -> list[Row]:
    """Each GEMM over that of one column of tiles of 2,560 rows."""
    rows, column = _gemms(), (SIZE, COLUMNS)
    least = {r["kernel"]: float(r["measured"]) for r in rows if (r["size"], r["n"]) == column}
    return [
        r | {"measured": str(float(r["measured"]) / least[r["kernel"]])}
        for r in rows
        if (r["size"], r["n"]) != column
    ]


def _vectors() -> list[Row]:
    found = (
        row for row in read("systems/accelsim_qv100_cycles")
        if row["simulator"] == "Accel-Sim" and row["application"].startswith("vectorAdd")
    )  # fmt: skip
    return [
        {"case": row["application"], "accelerator": "QV100",
         "elements": row["application"].rpartition("_")[2], "measured": row["meas_hw_cycles"]}
        for row in found
    ]  # fmt: skip


SETS = [
    Set("GEMMs of CUTLASS on QV100", "studies/gpgpu_sim.hw", "gemm_on_qv100", _gemms, "",
        output="cycles", baseline="constant_rate", fitted="one of ten on tensor cores"),
    Set("qv100_cutlass_gemm, over one column of tiles", "studies/goldyloc.hw", "wide_gemm",
        _wide_gemms, "", "whole_ratio", "ideal_overlap"),
    Set("vector additions on QV100", "studies/gpgpu_sim.hw", "vector_add_on_qv100", _vectors, "",
        output="cycles", baseline="peak_cycles"),
]  # fmt: skip
