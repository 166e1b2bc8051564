"""Adapter of GEMMs that CUTLASS ran on QV100, in cycles that only count as ratios."""

from measured import Row, Set, read

# GEMM of one column of tiles, to which the others of its kernel are related.
SIZE, COLUMNS = "2560", "128"


def wide_gemms() -> list[Row]:
    """Each GEMM over that of one column of tiles of 2,560 rows."""
    rows = read("systems/qv100_cutlass_gemm_cycles")
    least = {
        r["kernel"]: float(r["meas_hw_cycles"]) for r in rows if (r["m"], r["n"]) == (SIZE, COLUMNS)
    }
    return [
        {
            "case": f"{r['kernel']} {r['m']} x {r['n']} x {r['k']}",
            "accelerator": r["kernel"],
            "kernel": r["kernel"].removesuffix("_nn"),
            "size": r["m"],
            "n": r["n"],
            "measured": str(float(r["meas_hw_cycles"]) / least[r["kernel"]]),
        }
        for r in rows
        if (r["m"], r["n"]) != (SIZE, COLUMNS)
    ]


SETS = (
    Set("qv100_cutlass_gemm, over one column of tiles", "studies/goldyloc.hw", "wide_gemm",
        wide_gemms, "", "whole_ratio", "ideal_overlap"),
)  # fmt: skip
