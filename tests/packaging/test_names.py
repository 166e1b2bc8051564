"""A public class name means one thing."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_class_name_means_two_things() -> None:
    """But for what users import, which has the name of the declaration that it comes from."""
    place = ROOT / "benchmarks" / "house.py"
    spec = importlib.util.spec_from_file_location("house", place)
    assert spec is not None
    assert spec.loader is not None
    house = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(house)
    found = house.modules(ROOT)
    assert len(found) > 100
    assert house.shared_names(found) == {
        name: ["hwdsl.api.evaluator", "hwdsl.syntax.ast_items"] for name in ("Evaluator", "Module")
    }
