"""The wheel holds what is tracked, and the checkout's folders are imported under one name only."""

import ast
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAPPED = {"hwdsl": "hwdsl", "codegen": "hwdsl/codegen", "grammar": "hwdsl/grammar",
          "library": "hwdsl/library"}  # fmt: skip


def tracked(*folders: str) -> list[str]:
    answer = subprocess.run(
        ["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        pytest.skip("not a git checkout: nothing says which files are tracked")
    return [n for n in answer.stdout.split("\0") if n and (ROOT / n).exists()]


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Build a wheel from a copy of the tracked files, without the network."""
    tree = tmp_path_factory.mktemp("tree")
    archive = tree / "files.tar"
    with tarfile.open(archive, "w") as tar:
        for name in tracked(*MAPPED, "pyproject.toml", "LICENSE", "README.md"):
            tar.add(ROOT / name, name)
    with tarfile.open(archive) as tar:
        tar.extractall(tree, filter="data")
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps",
         "--wheel-dir", str(out), str(tree)],
        check=True, cwd=out,
    )  # fmt: skip
    (wheel,) = out.glob("hwdsl-*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_wheel_holds_every_tracked_file(wheel_names: set[str]) -> None:
    missing = []
    for name in tracked(*MAPPED):
        folder, _, rest = name.partition("/")
        if f"{MAPPED[folder]}/{rest}" not in wheel_names:
            missing.append(name)
    assert not missing, "not in the wheel: list their folders in pyproject.toml"


def test_wheel_holds_no_more_than_the_package(wheel_names: set[str]) -> None:
    others = {n.split("/")[0] for n in wheel_names} - {"hwdsl"}
    assert all(n.endswith(".dist-info") for n in others)


def test_every_folder_is_a_listed_package() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {Path(n).parent for n in tracked(*MAPPED)}
    names = set()
    for folder in folders:
        top, *rest = folder.parts
        names.add(".".join([*MAPPED[top].split("/"), *rest]))
    assert names == set(listed)


@pytest.mark.parametrize("top", ["codegen", "grammar", "library"])
def test_no_file_imports_a_mapped_folder_by_its_own_name(top: str) -> None:
    offenders = []
    for name in tracked("*.py"):
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"), name)
        for node in ast.walk(tree):
            modules: list[str] = []
            if isinstance(node, ast.Import):
                modules = [a.name for a in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                modules = [node.module]
            if any(m.split(".")[0] == top for m in modules):
                offenders.append(f"{name}:{node.lineno}")
    assert not offenders


def test_ruff_bans_those_imports(tmp_path: Path) -> None:
    for top in ("codegen", "grammar", "library"):
        probe = tmp_path / "probe.py"
        probe.write_text(f'"""Probe."""\n\nimport {top}\n')
        answer = subprocess.run(
            [sys.executable, "-m", "ruff", "check", "--no-cache", "--config",
             str(ROOT / "pyproject.toml"), str(probe)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "TID251" in answer.stdout


def test_version_is_quick_and_imports_no_compiler() -> None:
    code = (
        "import sys; from hwdsl.cli.main import main; assert main(['--version']) == 0; "
        "heavy = {'numpy', 'lark', 'Cython', 'setuptools', 'jinja2'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
