#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record.py LOGS COMMIT: puts a row for what ran in a clean root into the table "tested with" of
README.md. LOGS is a directory as run.sh leaves it: `versions`, what versions.sh printed; `summary`, a line a
command; and the logs of the commands."""

import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "README.md"
BEGIN, END = "<!-- tested with: begin -->\n", "<!-- tested with: end -->\n"
HEAD = ("`tests/roots/run.sh` has typed the commands of the README in clean systems:\n\n"
        "| system | compilers | MPI | CMake, Trilinos, p4est | passed tests | commit, date |\n|---|---|---|---|---|---|\n")
# What ctest says in the end, and the option of tests/run.sh that names the kind of build.
OUTCOME = re.compile(r"tests passed, (\d+) tests? failed out of (\d+)")
COMMAND = re.compile(r"^ *\d+ s  exit +\d+  (.*)$", re.MULTILINE)
KINDS = {"--clang": "with clang", "--mpich": "with MPICH", "--abi": "of the MPI ABI"}


def outcome_of(log, command):
    """What ran of the tests, as text, or nothing."""
    kind = " ".join(name for option, name in KINDS.items() if option in command)
    found = [(int(failed), int(total)) for failed, total in OUTCOME.findall(log.read_text(errors="replace"))]
    return [f"{total - failed} of {total} {kind}".strip() for failed, total in found]


def row_of(logs, commit, today):
    versions = dict(line.split("=", 1) for line in (logs / "versions").read_text().splitlines())
    commands = COMMAND.findall((logs / "summary").read_text())
    outcomes = [outcome for number, command in enumerate(commands, 1)
                for outcome in outcome_of(logs / f"{number:02}.log", command)]

    def named(*names):
        return ", ".join(f"{name} {versions[name]}" for name in names if versions.get(name))

    numbers = ", ".join(versions.get(name) or "none" for name in ("CMake", "Trilinos", "p4est"))
    cells = (f"Debian {versions['system']}", named("GCC", "clang"), named("Open MPI", "MPICH"), numbers,
             "; ".join(outcomes) or "none", f"{commit}, {today}")
    return f"| {' | '.join(cells)} |\n"


def with_row(page, row):
    """The page with this row in place of that of the same system, or behind the others."""
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    rows = page[begin:end].removeprefix(HEAD).splitlines(keepends=True)
    system = row.split("|")[1]
    if any(old.split("|")[1] == system for old in rows):
        rows = [row if old.split("|")[1] == system else old for old in rows]
    else:
        rows.append(row)
    return page[:begin] + HEAD + "".join(rows) + page[end:]


def main(logs, commit):
    row = row_of(Path(logs), commit, datetime.date.today().isoformat())
    PAGE.write_text(with_row(PAGE.read_text(), row))
    print(row, end="")


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
