"""What an hour of an H100 costs if wafers, memory, margins and energy are uncertain: a sample.

    python benchmarks/monte_carlo.py [--points 10000000] [--seed 0]

Prints quantiles of the study `h100_cluster`, the params that its answer follows most, and samples a
second. Drawing, evaluating and keeping all outputs are in the time; compiling is not.
"""

import argparse
import time
from pathlib import Path

import hwdsl

STUDY = Path(__file__).parents[1] / "library" / "studies" / "h100_cluster.hw"
SHOWN = (
    "die_cost",
    "package_cost",
    "gpu_unit_price",
    "capex_per_gpu",
    "goodput",
    "cost_per_gpu_hour",
    "cost_per_goodput_gpu_hour",
)
LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def main():
    """Sample, and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--points", type=int, default=10_000_000)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    study = hwdsl.load(STUDY).h100_cluster
    study.sample(1000)  # compiled, and warm
    start = time.perf_counter()
    found = study.sample(given.points, seed=given.seed)
    wall = time.perf_counter() - start
    units = {output.name: output.scale.unit for output in study.spec.outputs}
    print(f"{given.points:,} samples in {wall:.2f} s: {given.points / wall:,.0f} a second")
    print(f"share that breaks no rule: {found.feasible.mean():.4f}")
    print(f"{'quantile':<22}" + "".join(f"{level:>12.0%}" for level in LEVELS))
    for name in SHOWN:
        row = "".join(f"{value:>12.4g}" for value in found.quantile(name, LEVELS))
        print(f"{f'{name} [{units[name]}]':<22}{row}")
    print("rank correlation with hour:")
    ranked = sorted(
        found.rank_correlation("cost_per_gpu_hour").items(), key=lambda item: -abs(item[1])
    )
    for name, value in ranked:
        print(f"  {name:<14}{value:>8.3f}")


if __name__ == "__main__":
    main()
