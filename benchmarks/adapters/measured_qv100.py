"""Adapter of the cycles of GEMMs on QV100 that Accel-Sim publishes beside its simulators.

The other applications of that table have no size in their names, or kernels that the library does
not describe.
"""

from measured import Row, Set, read


def _gemms() -> list[Row]:
    """All runs have M = K. The group has the kernel."""
    return [
        {"case": f"{row['kernel']} {row['m']} x {row['n']} x {row['k']}",
         "accelerator": row["kernel"], "kernel": row["kernel"],
         "size": row["m"], "n": row["n"], "measured": row["meas_hw_cycles"]}
        for row in read("systems/qv100_cutlass_gemm_cycles")
        if row["m"] == row["k"]
    ]  # fmt: skip


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
    Set("vector additions on QV100", "studies/gpgpu_sim.hw", "vector_add_on_qv100", _vectors, "",
        output="cycles", baseline="peak_cycles"),
]  # fmt: skip
