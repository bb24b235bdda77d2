#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_record.py: what tests/roots/record.py writes into the table "tested with", of logs that are made here,
and that the README has the place for it."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/roots"))
import record  # noqa: E402

VERSIONS = """system=13 (trixie)
GCC=14.2.0
clang=
Open MPI=5.0.7
MPICH=4.2.1
CMake=3.31.6
Trilinos=13.2.0
p4est=
"""
SUMMARY = """   12 s  exit   0  apt-get install g++
  900 s  exit   8  ./tests/run.sh                   # the tests
  100 s  exit   0  ./tests/run.sh --only --clang
trixie at abc1234: 3 commands, 1 failed; 500 packages; logs in somewhere
"""
ROW = ("| Debian 13 (trixie) | GCC 14.2.0 | Open MPI 5.0.7, MPICH 4.2.1 | 3.31.6, 13.2.0, none "
       "| 568 of 570; 300 of 300 with clang | abc1234, 2026-11-25 |\n")


def main():
    with tempfile.TemporaryDirectory() as name:
        logs = Path(name)
        (logs / "versions").write_text(VERSIONS)
        (logs / "summary").write_text(SUMMARY)
        (logs / "01.log").write_text("nothing\n")
        (logs / "02.log").write_text("99% tests passed, 2 tests failed out of 570\n")
        (logs / "03.log").write_text("100% tests passed, 0 tests failed out of 300\n")
        row = record.row_of(logs, "abc1234", "2026-11-25")
    errors = [] if row == ROW else [f"the row is {row}"]
    other = ROW.replace("13 (trixie)", "12 (bookworm)")
    page = f"before\n{record.BEGIN}{record.END}behind\n"
    page = record.with_row(record.with_row(page, other), ROW.replace("568", "1"))
    page = record.with_row(page, row)
    if page != f"before\n{record.BEGIN}{record.HEAD}{other}{row}{record.END}behind\n":
        errors.append(f"the page is {page}")
    readme = record.PAGE.read_text()
    if readme.count(record.BEGIN) != 1 or readme.count(record.END) != 1:
        errors.append("README.md has no place for the table")
    print("\n".join(errors) or "rows are as the logs say")
    return 1 if errors else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main())
