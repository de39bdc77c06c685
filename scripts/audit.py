"""Audit what the project depends on: hashes, consistency, licences, known vulnerabilities.

Writes ``requirements/licences.csv``. The status is 1 where something is wrong; advisories that
cannot be downloaded, as on a machine without a network, are reported and are not a fault.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "requirements"
LICENCES = FOLDER / "licences.csv"

ADDRESS = re.compile(r"[a-z]+://|^--(extra-)?index-url|^--find-links", re.MULTILINE)
PINNED = re.compile(
    r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(\S+)(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL
)

FREE = re.compile(
    r"\b(MIT|BSD|Apache|ISC|MPL|Mozilla Public|PSF|PYTHON|Python Software Foundation|Zlib|ZPL|Zope"
    r"|Unlicense|CC0|0BSD|LGPL|HPND|Public Domain|GPL-?2\+? with.*exception)",
    re.IGNORECASE,
)
"""Licences under which a package may be used beside MIT code."""


def run(*words: str, check: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a module of this Python, and keep what it prints."""
    return subprocess.run(
        [sys.executable, "-m", *words], check=check, capture_output=True, text=True
    )


def locked(lock: str) -> dict[str, tuple[str, int]]:
    """Return the version and the number of hashes of each package that a lock file pins."""
    return {
        name.lower().replace("_", "-"): (version, rest.count("--hash=sha256:"))
        for name, version, rest in PINNED.findall(lock)
    }


def faults_of_lock(name: str, lock: str) -> list[str]:
    """Return what is wrong with a lock file: addresses in it, packages without a hash."""
    bare = [package for package, (_, hashes) in locked(lock).items() if not hashes]
    found = [f"{name}: {package} has no hash; run make lock" for package in bare]
    if ADDRESS.search(lock):
        found.append(f"{name}: names an address to fetch from; run make lock")
    return found


def licences() -> list[tuple[str, str, str]]:
    """Return name, version and licence of each installed package that a lock file pins."""
    listed = run("piplicenses", "--format=json", "--with-system", check=True).stdout
    known = {
        row["Name"].lower().replace("_", "-"): (row["Version"], " ".join(row["License"].split()))
        for row in json.loads(listed)
    }
    pinned = {name for file in FOLDER.glob("*.lock") for name in locked(file.read_text("utf-8"))}
    return [(name, *known[name]) for name in sorted(pinned & known.keys())]


def faults_of_licences(rows: list[tuple[str, str, str]]) -> list[str]:
    """Return the packages whose licence is not one of those that are known to be free."""
    return [
        f"{name} {version}: its licence is {licence[:80]!r}; look whether it may be used"
        for name, version, licence in rows
        if not FREE.search(licence)
    ]


def advisories() -> tuple[list[str], str]:
    """Return the known vulnerabilities of the locked packages, and what was looked at."""
    flags = "--disable-pip --require-hashes --format=json --progress-spinner=off"
    done = run("pip_audit", *flags.split(), "-r", str(FOLDER / "test.lock"))
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (json.JSONDecodeError, KeyError):
        return [], "advisories: none could be had here"
    seen = [package for package in packages if "vulns" in package]
    found = [
        f"{package['name']} {package['version']}: {vulnerability['id']}"
        for package in seen
        for vulnerability in package["vulns"]
    ]
    return found, f"advisories: had of {len(seen)} of {len(packages)} packages"


def main() -> int:
    """Audit, and tell."""
    faults = []
    for path in sorted(FOLDER.glob("*.lock")):
        faults += faults_of_lock(path.name, path.read_text(encoding="utf-8"))
    check = run("pip", "check")
    if check.returncode:
        faults += check.stdout.splitlines()
    rows = licences()
    faults += faults_of_licences(rows)
    with LICENCES.open("w", encoding="utf-8", newline="") as file:
        columns = ("package", "version", "licence")
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    found, looked_at = advisories()
    faults += found
    print(f"{len(rows)} packages: hashes, consistency and licences looked at; {looked_at}")
    for fault in faults:
        print(f"audit: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
