"""From graphs to kernels that run: compilers, tiers, packages."""
