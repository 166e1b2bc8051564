"""Die areas against LLMCompass's own numbers, all of them, and its constants."""

from typing import Any

import pytest
from reference import agree, cases, document, model

import hwdsl

TABLES = document("llmcompass_area").get("parameters", {})
NO_TABLES = pytest.mark.skipif(
    not TABLES, reason="HWDSL_REFERENCE_DATA holds no cost_cases/llmcompass_area.json"
)


def flat(found: dict[str, Any]) -> dict[str, float]:
    """Nested output as one level: `io_die_mm2.mem_phy_area`."""
    out: dict[str, float] = {}
    for name, value in found.items():
        inner = flat(value) if isinstance(value, dict) else {"": value}
        out |= {f"{name}.{key}".rstrip("."): number for key, number in inner.items()}
    return out


MANTISSAS = {"fp16": 10, "fp32": 23, "fp64": 52}


def outcome(given: dict[str, Any]) -> dict[str, float]:
    """What the model says to a case's input, under the names of its output."""
    core, io = given["core"], given["io"]
    vector, array = core["vector_unit"], core["systolic_array"]
    made = model("llmcompass_area").accelerator(
        node="N" + given["process_compute"].removesuffix("nm"),
        io_node="N" + io["process_node"].removesuffix("nm"),
        memory=given["memory_protocol"],
        link=given["link"],
        cores=given["physical_core_count"],
        sublanes=core["sublane_count"],
        vector_width=vector["vector_width"],
        fp64=vector["fp64_count"],
        fp32=vector["fp32_count"],
        fp16=vector["fp16_count"],
        int32_units=vector["int32_count"],
        array_width=array["array_width"],
        array_height=array["array_height"],
        array_mantissa=MANTISSAS[array["data_type"]],
        register_files=core["register_file"]["num_reg_files"],
        registers=core["register_file"]["num_registers"],
        register_bits=core["register_file"]["register_bitwidth"],
        register_ports=core["register_file"]["num_rdwr_ports"],
        local_memory=f"{core['SRAM_KB']} KiB",
        global_buffer=f"{io['physical_global_buffer_MB']} MiB",
        channels=io["memory_channel_physical_count"],
        links=given["link_count"],
    )
    assert set(made.violations) <= {"small_cache"}
    return {
        "compute_area_mm2": made.compute,
        "io_area_mm2": made.io,
        "total_area_mm2": made.silicon,
        "per_core_mm2.total_core_area": made.core,
        "per_core_mm2.control_area": made.core_control,
        "per_core_mm2.alu_area": made.core_vector,
        "per_core_mm2.sa_area": made.core_array,
        "per_core_mm2.regfile_area": made.core_registers,
        "per_core_mm2.local_buffer_area": made.core_memory,
        "compute_die_mm2.total_area": made.compute,
        "compute_die_mm2.cores_area": made.all_cores,
        "compute_die_mm2.crossbar_area": made.joints,
        "io_die_mm2.total_die_area": made.io,
        "io_die_mm2.global_buffer_area": made.buffer,
        "io_die_mm2.mem_phy_area": made.memory_phy,
        "io_die_mm2.mem_controller_area": made.memory_controller,
        "io_die_mm2.device_phy_area": made.link_phy,
        "io_die_mm2.device_controller_area": made.link_controller,
    }


@pytest.mark.parametrize("case", cases("llmcompass_area"))
def test_numbers_are_theirs(case: dict[str, Any]) -> None:
    agree(outcome(case["input"]), flat(case["output"]))


INTERFACES = {
    "PCIe4": ("pcie4", "lane"),
    "PCIe5": ("pcie5", "lane"),
    "DDR5": ("ddr5", "link_unit"),
    "HBM2e": ("hbm2e", "link_unit"),
    "NVLink3": ("nvlink3", "link_unit"),
    "NVLink4": ("nvlink4", "link_unit"),
    "InfinityFabric": ("infinity_fabric", "link_unit"),
}


def constants() -> dict[str, float]:
    """Their constants by the text that reads the same one here."""
    out = {
        "fpu64 / 1 tr": TABLES["fpu64_transistor_count"],
        "fpu(23) / 1 tr": TABLES["fpu32_transistor_count"],
        "fpu(10) / 1 tr": TABLES["fpu16_transistor_count"],
        "int32 / 1 tr": TABLES["int32_transistor_count"],
        "control / 1 tr": TABLES["per_sublane_control_transistor_count"],
        "crossbar / 1 tr": TABLES["per_core_comm_transistor_count"],
    }
    for nm in (7, 6, 5):
        out[f"N{nm}.density / (1 Mtr/mm^2)"] = TABLES[f"transistor_density_{nm}nm"]
        out[f"N{nm}.bit_cell / (1 mm^2/bit)"] = TABLES[f"sram_bit_cell_density_{nm}nm"]
    for name, (theirs, each) in INTERFACES.items():
        out[f"{name}.phy / (1 mm^2)"] = TABLES[f"{theirs}_phy_mm2_per_{each}"]
        out[f"{name}.controller / 1 tr"] = TABLES[f"{theirs}_ctrl_transistors_per_{each}"]
    for place, share in enumerate(TABLES["cache_area_efficiency_arr"][:-1]):
        out[f"efficiency[{place}]"] = share
    return out


@NO_TABLES
def test_every_constant_is_theirs(tmp_path: Any) -> None:
    known = constants()
    lines = [f"output c{place} = {text}" for place, text in enumerate(known)]
    path = tmp_path / "constants.hw"
    text = ["edition 2026", "use peers.llmcompass_area", "evaluator asked {", *lines, "}"]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    found = hwdsl.load(path, compiled=False).asked()
    for place, (name, value) in enumerate(known.items()):
        assert getattr(found, f"c{place}") == pytest.approx(value, rel=1e-12), name


def test_register_files_outside_the_fit_are_refused() -> None:
    accelerator = model("llmcompass_area").accelerator
    for other in ({"register_ports": 8}, {"register_bits": 64}):
        assert not accelerator(**other).violations
        assert accelerator(**other).core_registers > accelerator().core_registers
    tiny = accelerator(registers=64, register_bits=1, register_ports=1)
    assert tiny.violations == ["fitted"]


def test_products_take_multipliers() -> None:
    accelerator = model("llmcompass_area").accelerator
    one, two, wide = (accelerator(**k).core_array for k in (
        {}, {"array_products": 2}, {"array_mantissa": 23}
    ))  # fmt: skip
    assert two == pytest.approx(2 * one, rel=1e-12)
    assert wide == pytest.approx(5.29 * one, rel=1e-12)


def test_a_large_cache_is_made_of_banks() -> None:
    accelerator = model("llmcompass_area").accelerator
    one = accelerator(local_memory="512 KiB").core_memory
    assert accelerator(local_memory="513 KiB").core_memory == pytest.approx(2 * one, rel=1e-12)
    small, least = accelerator(local_memory="2 KiB"), accelerator(local_memory="4 KiB")
    assert small.violations == ["small_cache"]
    assert small.core_memory == least.core_memory
