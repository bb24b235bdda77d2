#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_help.py: every script says with --help, and exit code 0, what it is for and
how it is called."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Read by other scripts, not run.
READ = {"cmake/install_packages.sh", "cmake/spack/package.py", "examples/support/usage.sh",
        "tests/hosts/hosts.sh", "tests/mutants/lists.py", "tests/roots/clean_root.sh"}
INTERPRETERS = {".sh": "bash", ".py": sys.executable}


def scripts():
    found = [path for folder in ("cmake", "examples", "tests", "adapters", "src")
             for suffix in INTERPRETERS for path in (ROOT / folder).rglob(f"*{suffix}")]
    return sorted(path for path in found
                  if str(path.relative_to(ROOT)) not in READ and path.parent.name != "plotting"
                  and not path.is_relative_to(ROOT / "adapters/python"))


def error_of(path):
    first = path.read_text().split("\n", 1)[0]
    run = ["/bin/sh", path] if first == "#!/bin/sh" else [INTERPRETERS[path.suffix], path]
    done = subprocess.run([*run, "--help"], capture_output=True, text=True, timeout=120)
    if done.returncode == 77:  # a module that it needs is not here
        return None
    if done.returncode != 0:
        return f"ends with {done.returncode}: {done.stderr.strip()[-300:]}"
    if path.name not in done.stdout and "usage" not in done.stdout.lower():
        return f"does not say how it is called: {done.stdout[:300]}"
    return None


def main():
    errors = [f"{path.relative_to(ROOT)} --help {error}" for path in scripts() if (error := error_of(path))]
    print("\n".join(errors) or f"{len(scripts())} scripts have --help")
    return 1 if errors else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main())
