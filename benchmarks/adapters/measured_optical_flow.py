"""Adapter of published times of optical flow on desktop processors."""

from measured import Row, Set, read

FOLDER = "systems"
# Processors that the library describes; the integrated GPUs and unnamed machines of the table are not.
PROCESSORS = {"i7-6700": "Core_i7_6700", "i5-6600": "Core_i5_6600"}


def _flows() -> list[Row]:
    return [
        {"case": f"{row['processor']}, {row['preset']}, {row['width']} x {row['height']}",
         "accelerator": f"{row['processor']} {row['preset'].lower()}",
         "cpu": PROCESSORS[row["processor"]], "preset": row["preset"].lower(),
         "width": row["width"], "height": row["height"], "measured": row["meas_ms"]}
        for row in read(f"{FOLDER}/r24_dis_flow_opencv")
        if row["path"] == "cpu" and row["processor"] in PROCESSORS
    ]  # fmt: skip


SETS = [
    Set("optical flow on processors", "studies/evs.hw", "optical_flow", _flows, "ms",
        baseline="per_pixel", fitted="i7-6700, ultrafast and fast, 640 x 480",
        coefficients=("dis_efficiency", "full_image_flops")),
]  # fmt: skip
