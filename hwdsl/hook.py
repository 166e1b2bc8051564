"""`import hwdsl.hook` makes `.hw` files on `sys.path` importable, as modules with their evaluators.

>>> import hwdsl.hook
>>> import gpt3                     # gpt3.hw
>>> gpt3.gpt3(tensor=8).throughput
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType


class HwLoader(Loader):
    """Fills a Python module with the evaluators of a `.hw` file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def exec_module(self, module: ModuleType) -> None:
        """Load the file; a wrong one is an ImportError that shows its diagnostics."""
        from hwdsl.api.evaluator import DescriptionError, load

        try:
            loaded = load(self._path)
        except DescriptionError as error:
            raise ImportError(str(error), name=module.__name__, path=str(self._path)) from error
        module.__doc__ = loaded.doc
        vars(module)["__all__"] = list(loaded.evaluators)
        vars(module).update(loaded.evaluators)


class HwFinder(MetaPathFinder):
    """Finds NAME.hw where Python looked for NAME in vain."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Look for the last part of the name in the folders of the parent, or of `sys.path`."""
        name = fullname.rpartition(".")[2]
        for folder in sys.path if path is None else path:
            file = Path(folder or ".") / f"{name}.hw"
            if file.is_file():
                return spec_from_file_location(fullname, file, loader=HwLoader(file))
        return None


def install() -> None:
    """Add the finder behind all others, once."""
    if not any(isinstance(finder, HwFinder) for finder in sys.meta_path):
        sys.meta_path.append(HwFinder())


install()
