"""Adapter of the convolution schedules that PARLOOPER tried on Sapphire Rapids.

A loop string names the loops by letters, the outermost first: a capital letter is a parallel loop,
and `A{C:14}C{R:4}` a grid of 14 by 4 threads.
"""

import re

from measured import LEFT_OUT, Row, Set, read

LOOPS = {
    "a": "images", "b": "input_channels", "c": "output_channels", "d": "rows", "e": "columns",
    "f": "kernel_rows", "g": "kernel_columns",
}  # fmt: skip
PARALLEL = {"a": "image_threads", "c": "channel_threads"}
SLOTS = 9
COLUMNS = {
    "images": "batch", "in_channels": "in_channels", "out_channels": "out_channels",
    "size": "height", "kernel_size": "kernel_h", "stride": "stride", "padding": "pad_h",
    "block": "block_c", "h_block": "h_block", "w_block": "w_block", "c_block": "c_block",
    "k_block": "k_block", "h_in_gemm": "h_in_gemm",
}  # fmt: skip


def schedule(r: Row) -> Row:
    """The params of `convolution` of one row of the table."""
    letters = re.findall(r"([a-zA-Z])(?:\{[CR]:(\d+)\})?", r["loop_string"])
    loops = [LOOPS[letter.lower()] for letter, _ in letters]
    threads = dict.fromkeys(PARALLEL.values(), "1")
    for letter, count in letters:
        if letter.isupper():
            threads[PARALLEL[letter.lower()]] = count or r["threads"]
    slots = loops + ["unused"] * (SLOTS - len(loops))
    row = {f"loop_{i}": name for i, name in enumerate(slots, 1)}
    return row | threads | {param: r[column] for param, column in COLUMNS.items()}


def _schedules() -> list[Row]:
    rows = []
    for r in read("systems/r22_parlooper_spr_conv_tuning"):
        row = schedule(r) | {
            "case": f"layer {r['layer_id']}, {r['loop_string']}",
            "accelerator": f"layer {r['layer_id']}",
            "measured": str(float(r["meas_time_s"]) * 1e6),
        }
        if r["pack_input"] == "1":
            row[LEFT_OUT] = "the input is packed first, which the evaluator does not describe"
        rows.append(row)
    return rows


SETS = [
    Set("convolution schedules on Sapphire Rapids", "studies/parlooper.hw", "convolution",
        _schedules, "us", baseline="roofline"),
]  # fmt: skip
