"""How good are the convolution schedules that a model takes to be the fastest?

    python benchmarks/schedule_choice.py DATA

DATA is the folder of the published tables. For each layer of the table of PARLOOPER on Sapphire
Rapids: the rate of the schedule with the least predicted time as a fraction of the best measured
(where several are predicted alike, their mean), and the rank correlation (Spearman) of predicted and
measured times; by `std.loop_nest`, by the paper's cost model with its own constants, and the median
schedule for comparison.
"""

import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

sys.path.insert(0, str(Path(__file__).parent / "adapters"))
Column = NDArray[np.float64]


def chosen(predicted: Column, measured: Column) -> float:
    """Rate of the schedules with the least predicted time as a fraction of the best rate."""
    least = predicted <= predicted.min() * (1 + 1e-9)
    return float((measured.min() / measured[least]).mean())


def main() -> None:
    os.environ["HWDSL_REFERENCE_DATA"] = sys.argv[1]
    from measured_parlooper import SETS

    import hwdsl

    (schedules,) = SETS
    library = Path(__file__).parents[1] / "library"
    evaluator = getattr(hwdsl.load(library / schedules.file), schedules.evaluator)
    rows = schedules.given(evaluator).rows
    params = {p.name for p in evaluator.spec.params}
    swept = evaluator.sweep(zipped={c: [r[c] for r in rows] for c in rows[0] if c in params}).raw
    measured = np.array([float(r["measured"]) for r in rows])
    layers = np.array([r["accelerator"] for r in rows])
    print(f"{'layer':>10} {'schedules':>9} {'std':>6} {'paper':>6} {'median':>6}   "
          f"{'rank std':>8} {'rank paper':>10}")  # fmt: skip
    table = []
    for layer in sorted(set(layers), key=lambda name: int(name.split()[1])):
        here = layers == layer
        truth = measured[here]
        times = [swept.column(name)[here] for name in ("time", "paper_time")]
        line = [chosen(t, truth) for t in times] + [float(truth.min() / np.median(truth))]
        line += [float(spearmanr(t, truth).statistic) for t in times]
        table.append(line)
        print(f"{layer:>10} {here.sum():>9} {line[0]:6.2f} {line[1]:6.2f} {line[2]:6.2f}   "
              f"{line[3]:8.2f} {line[4]:10.2f}")  # fmt: skip
    mean = np.nanmean(np.array(table), axis=0)
    print(f"{'mean':>10} {len(rows):>9} {mean[0]:6.2f} {mean[1]:6.2f} {mean[2]:6.2f}   "
          f"{mean[3]:8.2f} {mean[4]:10.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
