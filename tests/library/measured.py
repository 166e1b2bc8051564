"""Measured tables of kernels, as the study of kernels reads them.

The tables lie outside the project, in the folder `measured` of HWDSL_REFERENCE_DATA. Each function
gives the rows of one evaluator: its params by name as text, and the measured time in microseconds
under `measured`.
"""

import csv
import os
from pathlib import Path

MACHINES = {
    "A100-SXM4-80GB": "A100_SXM_80GB",
    "A100-80GB": "A100_SXM_80GB",
    "A40-48GB": "A40",
    "H100-SXM5-80GB": "H100_SXM_80GB",
    "H100-80GB": "H100_SXM_80GB",
    "B200-SXM-180GB": "B200_SXM_180GB",
    "GB300 (NVL72)": "GB300_GPU",
    "RTX PRO 6000 Blackwell Server": "RTX_PRO_6000",
    "Intel Arc Pro B60": "Arc_Pro_B60",
}
Row = dict[str, str]


def folder() -> Path | None:
    """Where the tables lie; None if the tests run without them."""
    where = os.environ.get("HWDSL_REFERENCE_DATA")
    path = Path(where) / "measured" if where else None
    return path if path and path.is_dir() else None


def read(name: str) -> list[Row]:
    """The rows of a table as they were published. Raises FileNotFoundError without the tables."""
    place = folder()
    if place is None:
        raise FileNotFoundError(f"HWDSL_REFERENCE_DATA holds no measured/{name}.csv")
    with (place / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def products(dtype: str) -> list[Row]:
    """Products of aic_gemm of one type, `bfloat16` or `fp8`."""
    return [
        {
            "case": r["row_id"],
            "machine": MACHINES[r["gpu"]],
            "m": r["m"],
            "n": r["n"],
            "k": r["k"],
            "measured": r["meas_time_us"],
        }
        for r in read("aic_gemm")
        if r["dtype"] == dtype and not (dtype == "fp8" and "Arc" in r["gpu"])
    ]


def linear() -> list[Row]:
    """Products of vidur_linear_ops, all in 16 bits."""
    return [
        {
            "case": r["row_id"],
            "machine": MACHINES[r["gpu"]],
            "m": r["gemm_m"],
            "n": r["gemm_n"],
            "k": r["gemm_k"],
            "measured": str(float(r["meas_time_ms_median"]) * 1000),
        }
        for r in read("vidur_linear_ops")
        if r["gemm_m"]
    ]


def attention(phase: str) -> list[Row]:
    """Attention of aic_attention over a `prefill` or in a `decode`, all in 16 bits."""
    length = "positions" if phase == "prefill" else "keys"
    return [
        {
            "case": r["row_id"],
            "machine": MACHINES[r["gpu"]],
            "sequences": r["batch"],
            length: r["kv_len"],
            "heads": r["n_heads"],
            "key_heads": r["n_kv_heads"],
            "head_width": r["head_dim"],
            "measured": r["meas_time_us"],
        }
        for r in read("aic_attention")
        if r["phase"].startswith(phase) and r["attn_dtype"] == r["kv_dtype"] == "bfloat16"
    ]


def write(path: Path, rows: list[Row], note: str = "") -> None:
    """Write rows as a table that `hwdsl compare` reads; `note` goes into comments above."""
    with path.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {line}\n" for line in note.splitlines())
        head = [f"{c} [us]" if c == "measured" else c for c in rows[0]]
        table = csv.writer(file, lineterminator="\n")
        table.writerow(head)
        table.writerows(list(row.values()) for row in rows)
