"""Adapters of tables measured on V100: kernels of a step of BERT-Base, and fused kernels of a layer of BERT-Large."""

from collections import defaultdict

from measured import Row, Set, read

FOLDER = "systems"
# Classes of the study, by phase and class of kernel in the profile. Reductions and dropout are with
# the elementwise kernels, as one kernel may do what another part of the profile has apart.
PHASES = {"zero_grad": "gradient_reset_kernels", "optimizer": "optimizer_kernels"}
CLASSES = {
    "gemm": "gemm_kernels",
    "layernorm": "layer_norm_kernels",
    "softmax": "softmax_kernels",
    "embedding": "embedding_kernels",
}
# Kernels of the layouts' files: that with the bias takes as long as that without, but no less.
FUSED = {"bad": "bad", "drln": "drln", "bdrln": "drln", "bsb": "bsb", "softmax": "scaled_softmax"}


def _profile() -> list[Row]:
    times = defaultdict[str, float](float)
    for row in read(f"{FOLDER}/orion_bert_breakdown"):
        phase, op = row["phase"], row["op_class"]
        times[PHASES.get(phase, CLASSES.get(op, "other_kernels"))] += float(row["meas_ms"])
    return [{"case": f"BERT-Base, 8 x 384, {name}", "accelerator": "V100", "op_class": name,
             "measured": f"{time:.3f}"} for name, time in times.items()]  # fmt: skip


def _best_layouts() -> list[Row]:
    best = dict[str, float]()
    for row in read(f"{FOLDER}/bert_large_fused_kernel_layouts_v100"):
        best[row["kernel"]] = min(float(row["meas_us"]), best.get(row["kernel"], float("inf")))
    return [{"case": f"BERT-Large, 8 x 512, {name}", "accelerator": "V100", "kernel": FUSED[name],
             "measured": f"{time:.3f}"} for name, time in best.items()]  # fmt: skip


SETS = [
    Set("step of BERT-Base, by class of kernel", "studies/bert_training.hw", "fine_tuning_profile",
        _profile, "ms"),
    Set("fused kernels of BERT-Large, best layouts", "studies/bert_layer.hw", "best_layout",
        _best_layouts, "us"),
]  # fmt: skip
