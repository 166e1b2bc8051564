"""Names of accelerators in published tables, and the library's components.

A name is parsed to words: the product name, its form factor, and its memory capacity. `NVIDIA
A100-SXM4-80GB`, `a100_sxm` and `DGX A100 8x80GB` are one accelerator; `A100 80GB PCIe` is another.
An unknown name, or a form factor or a capacity that the product does not have, is an error and not
a guess.
"""

import re

from attrs import frozen


class Undescribed(LookupError):
    """The library does not describe the subject of a row; the text says which."""


@frozen
class Machine:
    """A component and its names in tables: product names without maker, form factors, capacities.

    `""` among the forms or memories means that tables may leave the form or the capacity out.
    """

    component: str
    names: tuple[str, ...]
    forms: tuple[str, ...] = ("",)
    memories: tuple[str, ...] = ("",)


# Words for form factors; the generation of a module adds nothing to the name.
FORMS = {"sxm": "sxm", "pcie": "pcie", "nvl": "nvl", "oam": "oam", "maxq": "maxq"}
FORMS |= {f"sxm{i}": "sxm" for i in range(2, 7)}
# Words for the maker, the system or the memory type, which do not identify an accelerator.
IGNORED = {
    *("nvidia", "amd", "intel", "google", "instinct", "geforce", "tesla", "radeon", "quadro"),
    *("graphics", "gpu", "gpus", "r", "tm", "dgx", "hgx", "node", "server", "edition", "card"),
    *("nvl72", "nvlink3", "nvlink4", "nvlink5", "hbm2", "hbm2e", "hbm3", "hbm3e", "gddr6", "gddr7"),
    *("blackwell", "accelerator"),
}
SXM, PCIE = ("", "sxm"), ("pcie",)
MACHINES = (
    Machine("P100_SXM", ("p100",), SXM, ("", "16gb")),
    Machine("P100_PCIe", ("p100",), PCIE, ("", "16gb")),
    Machine("V100_SXM_32GB", ("v100", "v100h"), SXM, ("32gb",)),
    Machine("V100_SXM_16GB", ("v100",), SXM, ("", "16gb")),
    Machine("V100_PCIe", ("v100",), PCIE, ("", "16gb")),
    Machine("T4", ("t4",), ("", "pcie"), ("", "16gb")),
    Machine("A100_SXM_80GB", ("a100", "a800"), SXM, ("", "80gb")),
    Machine("A100_SXM_40GB", ("a100",), SXM, ("40gb",)),
    Machine("A100_PCIe_80GB", ("a100", "a800"), PCIE, ("", "80gb")),
    Machine("A100_PCIe_40GB", ("a100",), PCIE, ("40gb",)),
    Machine("A30", ("a30",), ("", "pcie"), ("", "24gb")),
    Machine("A10", ("a10", "a10g"), ("", "pcie"), ("", "24gb")),
    Machine("A40", ("a40",), ("", "pcie"), ("", "48gb")),
    Machine("RTX_A6000", ("rtxa6000", "a6000"), ("", "pcie"), ("", "48gb")),
    # H800 is H100 with less NVLink bandwidth: it computes as H100 does.
    Machine("H100_SXM_80GB", ("h100", "h800"), SXM, ("", "80gb")),
    Machine("H100_PCIe_80GB", ("h100",), PCIE, ("", "80gb")),
    Machine("H100_NVL_94GB", ("h100",), ("nvl",), ("", "94gb")),
    Machine("H200_SXM_141GB", ("h200",), SXM, ("", "141gb")),
    Machine("H20", ("h20",), ("", "sxm"), ("", "96gb")),
    Machine("GH200_96GB", ("gh200", "gh200gracehoppersuperchip"), ("", "sxm"), ("", "96gb")),
    Machine("B200_SXM_180GB", ("b200",), SXM, ("", "180gb", "192gb")),
    Machine("B300_SXM_288GB", ("b300",), SXM, ("", "270gb", "288gb")),
    Machine("GB200_GPU", ("gb200",), ("", "sxm"), ("", "186gb", "192gb")),
    Machine("GB300_GPU", ("gb300",), ("", "sxm"), ("", "278gb", "288gb")),
    Machine("L4", ("l4",), ("", "pcie"), ("", "24gb")),
    Machine("L40", ("l40",), ("", "pcie"), ("", "48gb")),
    Machine("L40S", ("l40s",), ("", "pcie"), ("", "48gb")),
    Machine("RTX_PRO_6000", ("rtxpro6000",), ("", "pcie"), ("", "96gb")),
    Machine("RTX_4090", ("rtx4090", "4090"), ("",), ("", "24gb")),
    Machine("RTX_3090", ("rtx3090", "3090"), ("",), ("", "24gb")),
    Machine("RTX_3080", ("rtx3080", "3080"), ("",), ("", "10gb")),
    Machine("RTX_2080_Ti", ("rtx2080ti", "2080ti"), ("",), ("", "11gb")),
    Machine("Titan_Xp", ("titanxp",), ("",), ("", "12gb")),
    Machine("Titan_X_Pascal", ("titanxpascal",), ("",), ("", "12gb")),
    Machine("Titan_X_Maxwell", ("titanxmaxwell", "titanx"), ("",), ("", "12gb")),
    Machine("M40", ("m40",), ("", "pcie"), ("", "12gb", "24gb")),
    Machine("GTX_1080_Ti", ("gtx1080ti", "1080ti"), ("",), ("", "11gb")),
    Machine("Vega_FE", ("vegafe", "vegafrontier"), ("",), ("", "16gb")),
    Machine("MI25", ("mi25",), ("", "pcie"), ("", "16gb")),
    Machine("MI50", ("mi50",), ("", "pcie"), ("", "16gb")),
    Machine("MI100", ("mi100",), ("", "pcie"), ("", "32gb")),
    Machine("MI210", ("mi210",), ("", "pcie"), ("", "64gb")),
    Machine("MI250X", ("mi250x",), ("", "oam"), ("", "128gb")),
    Machine("MI300X_OAM", ("mi300x",), ("", "oam"), ("", "192gb")),
    Machine("MI325X", ("mi325x",), ("", "oam"), ("", "256gb")),
    Machine("MI355X", ("mi355x",), ("", "oam"), ("", "288gb")),
    Machine("Gaudi2", ("gaudi2",), ("", "oam"), ("", "96gb")),
    Machine("Gaudi3", ("gaudi3",), ("", "oam", "pcie"), ("", "128gb")),
    Machine("Arc_Pro_B60", ("arcprob60", "b60"), ("", "pcie"), ("", "24gb")),
    Machine("TPU_v4", ("tpuv4",)),
    Machine("TPU_v5e", ("tpuv5e", "tpuv5litepod")),
    Machine("TPU_v5p", ("tpuv5p",)),
    Machine("TPU_v6e", ("tpuv6e",)),
)
COMPONENTS = {
    (name, form, memory): machine.component
    for machine in MACHINES
    for name in machine.names
    for form in machine.forms
    for memory in machine.memories
}


def _words(text: str) -> list[str]:
    """The words that identify a machine, in lower case, without counts and ignored words."""
    words = [re.sub(r"^\d+x(?=\d|$)", "", w) for w in re.split(r"[^a-z0-9]+", text.lower())]
    return [w for w in words if w and w not in IGNORED]


def component(text: str) -> str:
    """The library's component for the name of a machine in a table. Text after `(`, `,` or `;` is a
    remark (except in `NVIDIA Blackwell GPU (B200)`), and `4x` before a name is a count.

    Raises Undescribed for a name, form factor or capacity that the library does not have.
    """
    stated, *remarks = re.split(r"[(,;]", text)
    words = _words(stated) or _words(" ".join(remarks[:1]))
    if not words:
        raise Undescribed(f"no machine is called `{text}`")
    forms = [FORMS[w] for w in words if w in FORMS]
    memories = [w for w in words if re.fullmatch(r"\d+gb?", w) and w != words[0]]
    rest = [w for w in words if w not in FORMS and w not in memories]
    # `80 GB`: the number and its unit are separate words.
    if rest[-1:] == ["gb"] and len(rest) > 2 and rest[-2].isdigit():
        memories, rest = [*memories, f"{rest[-2]}gb"], rest[:-2]
    if len(forms) > 1 or len(memories) > 1:
        raise Undescribed(f"the machine `{text}` has two form factors or two capacities")
    key = ("".join(rest), "".join(forms), "".join(m.rstrip("gb") + "gb" for m in memories))
    if key not in COMPONENTS:
        raise Undescribed(f"no machine of the library is called `{text}`")
    return COMPONENTS[key]
