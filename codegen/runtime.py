"""tmp"""
from __future__ import annotations

from typing import Any, Protocol

Axis = tuple
class Kernel(Protocol): ...
class CompiledKernel:
    def __init__(self, module: Any, index: int) -> None:
        self.module, self.index = module, index
        self.params, self.outputs, self.words = module.shape(index)
    def run(self, axes, start, stop, outputs, rules):
        self.module.run(self.index, axes, start, stop, outputs, rules)
    def point(self, values):
        return self.module.point(self.index, values)
