"""Every write of a build may fail: the error says what to do, and nothing half-made is trusted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_cache import square

from hwdsl.base import store
from hwdsl.codegen.build.toolchain import build

# Builds in folders argv[1], argv[3] ... with files limited to argv[2], argv[4] ... bytes, or as far
# as the disk goes if that is negative; says what came of each.
BUILD = """
import resource, sys
from test_cache import square
from hwdsl.codegen.build import toolchain as building
import Cython.Compiler.Main
said = []
for path, limit in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit >= 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        kernel = building.build({"square": square(13.0)}, cache_dir=path)["square"]
    except building.BuildError as error:
        said.append(f"refused: {error}")
    else:
        said.append(f"built: {kernel.point([3.0])[0][0]}")
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
print("\\f".join(said))
"""

# Makes a small disk of its own, fills it by building, enlarges it and builds again.
DISK = """
mount -t tmpfs -o size={size} none {path} && {python} -c "$BUILD" {path}/cache -1 &&
find {path}/cache -name '*.so' -o -name 'module.o' | sort && echo then &&
mount -o remount,size=64m {path} && {python} -c "$BUILD" {path}/cache -1
"""


def environment():
    here = str(Path(__file__).parent)
    return {**os.environ, "PYTHONPATH": here, "PYTHONDONTWRITEBYTECODE": "1", "BUILD": BUILD}


def limited(asked):
    done = subprocess.run(
        [sys.executable, "-c", BUILD, *(str(word) for pair in asked for word in pair)],
        env=environment(), text=True, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.removesuffix("\n").split("\f")


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A cache with the module half only, so that later writes are reached."""
    path = tmp_path_factory.mktemp("half")
    build({"square": square()}, cache_dir=path)
    for entry in store.entries(path):
        if entry.kind is store.KERNELS:
            shutil.rmtree(entry.path)
    return path


LIMITS = [0, 700, 20_000, 150_000, 400_000]


def test_every_limit_on_files_gives_a_clear_error_or_a_sound_kernel(half, tmp_path):
    asked = [(tmp_path / f"{start}{n}", n) for start in ("empty", "half") for n in LIMITS]
    for path, _ in asked[len(LIMITS) :]:
        shutil.copytree(half, path)
    texts = limited(asked)
    for (path, _), text in zip(asked, texts, strict=True):
        assert text == "built: 22.0" or text.startswith("refused: "), text
        if text.startswith("refused"):
            assert "Traceback" not in text
            assert str(path) in text or "the C compiler failed" in text
            assert all(e.kind is store.INTERFACES for e in store.entries(path))
        assert not list(path.glob("work/*"))
        kernel = build({"square": square(13.0)}, cache_dir=path)["square"]
        assert kernel.point([3.0])[0] == [22.0]
    assert texts[0].startswith("refused: cannot write to the cache folder")
    assert sum(t.startswith("refused") for t in texts) >= 5
    assert sum(t.startswith("built") for t in texts) >= 2


def may_mount():
    done = subprocess.run(["unshare", "-rm", "true"], capture_output=True) if shutil.which(
        "unshare") else None  # fmt: skip
    return done is not None and done.returncode == 0


@pytest.mark.skipif(not may_mount(), reason="mounting a small disk is not allowed here")
@pytest.mark.parametrize("size", ["48k", "100k", "200k", "400k", "700k"])
def test_a_full_disk_gives_a_clear_error_and_later_a_kernel(tmp_path, size):
    script = DISK.format(size=size, path=tmp_path, python=sys.executable)
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], env=environment(), text=True,
                          capture_output=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, after = done.stdout.split("then\n")
    assert after == "built: 22.0\n"
    assert first.startswith(("refused", "built"))
    if first.startswith("refused"):
        assert "No space left" in first or "are free at" in first
        assert "HWDSL_CACHE_DIR" in first
        assert "/kernels/" not in first
        assert ".so" not in first.partition("HWDSL_CACHE_DIR")[2]
