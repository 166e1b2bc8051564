"""Adapter of MLPerf's reference convergence points: samples to a target by global batch size."""

from collections import defaultdict

from measured import Row, Set, read

FOLDER = "systems"
# Benchmarks whose points are those of another one.
COPIES = {"rgat": "gnn"}
LEAST = 4


def _points() -> list[Row]:
    """Of each benchmark the version with the most batch sizes; its smallest and its middle batch
    are given, the larger ones are predicted."""
    versions: dict[str, dict[str, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for row in read(f"{FOLDER}/row13_mlperf_rcp_epochs_vs_batch"):
        batch = int(row["global_batch"])
        versions[row["benchmark"]][row["first_version"]][batch] = row["to_converge_mean"]
    found: list[Row] = []
    for benchmark, by_version in versions.items():
        points = max(by_version.values(), key=len)
        batches = sorted(points)
        if benchmark in COPIES or len(batches) < LEAST:
            continue
        small, large = batches[0], batches[(len(batches) - 1) // 2]
        found += [
            {"case": f"{benchmark}, {batch}", "accelerator": benchmark,
             "small_batch": str(small), "small_samples": points[small],
             "large_batch": str(large), "large_samples": points[large],
             "global_batch": str(batch), "measured": points[batch]}
            for batch in batches if batch > large
        ]  # fmt: skip
    return found


SETS = [
    Set("samples to a target", "studies/critical_batch.hw", "samples_to_target", _points, "",
        output="samples", baseline="power_of_batch",
        fitted="smallest and middle batch of each benchmark"),
]  # fmt: skip
