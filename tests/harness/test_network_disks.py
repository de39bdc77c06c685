"""On a disk whose locks are those of NFS, a run works or says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from environments import environment

from omtl.compute.store import FILE

SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>

int flock(int file, int how) {  /* flock(2): NFS makes it a lock of fcntl, which writers only get */
    int mode = fcntl(file, F_GETFL) & O_ACCMODE;
    if ((how & LOCK_EX) && mode == O_RDONLY) { errno = EBADF; return -1; }
    return ((int (*)(int, int)) dlsym(RTLD_NEXT, "flock"))(file, how);
}

#ifdef NO_LOCKS
#define REPLACED(name) \\
int name(int file, int command, ...) { \\
    va_list more; \\
    va_start(more, command); \\
    void *value = va_arg(more, void *); \\
    va_end(more); \\
    if (command == F_SETLK || command == F_SETLKW) { errno = ENOLCK; return -1; } \\
    return ((int (*)(int, int, ...)) dlsym(RTLD_NEXT, #name))(file, command, value); \\
}
REPLACED(fcntl)
REPLACED(fcntl64)
#endif
"""
"""A library that is loaded first: `flock` needs descriptors for writing; there may be no locks."""

RUN = ["run", "algorithm=pm", "network=ring", "dataset.options.n_examples=20", "repeats=2"]


# SQLite takes a lack of locks for a lock of another process, and waits for a minute.
@pytest.fixture(scope="module", params=["flock", pytest.param("none", marks=pytest.mark.deep)])
def disk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library, named by what it does."""
    if sys.platform != "linux" or not shutil.which("cc"):
        pytest.skip("needs Linux and a compiler")
    path = tmp_path_factory.mktemp("library") / f"{request.param}.so"
    words = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path), "-ldl"]
    words += ["-DNO_LOCKS"] if request.param == "none" else []
    subprocess.run(words, input=SOURCE, text=True, check=True)
    return path


def ran(home: Path, library: Path) -> subprocess.CompletedProcess[str]:
    """Run a command whose files are on such a disk."""
    around = environment(home) | {"LD_PRELOAD": str(library)}
    around |= {name: os.environ[name] for name in ("NUMBA_CACHE_DIR",) if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "omtl", *RUN],
        cwd=home,
        env=around,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.timeout(300)
def test_a_run_on_a_network_disk(disk: Path, tmp_path: Path) -> None:
    """Without locks it names the disk; with those of NFS it works, also after a damaged byte."""
    first = ran(tmp_path, disk)
    assert "Traceback" not in first.stderr
    if disk.stem == "none":
        assert first.returncode == 2
        assert f"{FILE} cannot be used" in first.stderr
        assert "OMTL_HOME" in first.stderr
        return
    assert first.returncode == 0, first.stderr
    path = tmp_path / "store" / FILE
    content = bytearray(path.read_bytes())
    at = content.index(b"data_sha256")
    content[at] ^= 1
    path.write_bytes(content)
    again = ran(tmp_path, disk)
    assert again.returncode == 0, again.stderr
    assert "is damaged" in again.stderr
    assert "will be recomputed" in again.stderr
    assert ran(tmp_path, disk).stderr == ""
