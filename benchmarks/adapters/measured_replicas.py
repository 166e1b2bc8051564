"""Adapters of processes that share slices of an A100, and of sixteen V100 that exchange gradients."""

from measured import LEFT_OUT, Row, Set, read

FOLDER = "systems"
NETWORKS = {
    "resnet50": "resnet_50", "resnet152": "resnet_152", "vgg16": "vgg_16",
    "densenet169": "densenet_169", "densenet201": "densenet_201", "inceptionv3": "inception_3",
    "mobilenetv2": "mobilenet_2",
}  # fmt: skip
LIBRARIES = {
    "KungFu SynchronousSGD (TCP)": "KungFu",
    "Horovod 0.16.1 (TCP)": "Horovod",
    "KungFu PairAveraging": "PairAveraging",
    "TensorFlow parameter server": "ParameterServer",
}
TRAINED = {"ResNet-50": "ResNet50", "VGG16": "VGG16", "Inception-V3": "Inception3"}


def _processes() -> list[Row]:
    """Throughput of several processes over that of one; BERT's sequence length is not stated."""
    rows = read(f"{FOLDER}/r17_parvagpu_mig_inference")
    rate = "meas_throughput_per_process_samples_s"
    alone = {
        (r["model"], r["gpcs"], r["batch"]): float(r[rate])
        for r in rows if r["mps_processes"] == "1"
    }  # fmt: skip
    found: list[Row] = []
    for r in rows:
        key = (r["model"], r["gpcs"], r["batch"])
        if r["mps_processes"] == "1":
            continue
        if r["model"] not in NETWORKS or key not in alone:
            found.append({LEFT_OUT: "no operators, or no process alone"})
            continue
        gain = int(r["mps_processes"]) * float(r[rate]) / alone[key]
        found.append({"case": " ".join((*key, r["mps_processes"])), "accelerator": r["model"],
                      "network": NETWORKS[r["model"]], "gpcs": r["gpcs"], "batch": r["batch"],
                      "processes": r["mps_processes"], "measured": f"{gain:.5g}"})  # fmt: skip
    return found


def _exchanges() -> list[Row]:
    """All rows but the smallest batch of the networks to which the exchange was fitted."""
    return [
        {"case": f"{r['framework']}, {r['model']}, {r['global_batch']}",
         "accelerator": f"{LIBRARIES[r['framework']]} {r['model']}",
         "library": LIBRARIES[r["framework"]], "network": TRAINED[r["model"]],
         "global_batch": r["global_batch"], "measured": r["images_per_s"]}
        for r in read(f"{FOLDER}/row14_kungfu_16xV100")
        if r["global_batch"] != "256" or r["model"] == "Inception-V3"
        or (r["mode"] == "async" and r["model"] == "ResNet-50")
    ]  # fmt: skip


SETS = [
    Set("processes that share an A100", "studies/replicas_per_gpu.hw", "processes_on_slice",
        _processes, "", output="gain", baseline="gain_in_turn", fitted="one process"),
    Set("images per second of sixteen V100", "studies/kungfu.hw", "sixteen_V100", _exchanges,
        "s^-1", output="throughput", baseline="longer", fitted="256 images, ResNet-50 and VGG-16"),
]  # fmt: skip
