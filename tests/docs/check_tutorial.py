#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_tutorial.py PAGE DIRECTORY PREFIX CXX MPICC MPICXX MPIEXEC: types in what PAGE shows, from scratch
in DIRECTORY, and runs it against Valet installed in PREFIX, which the page calls ~/opt/valet.

Every block is taken, in the order of the page. A block of cmake is the CMakeLists.txt. The first one of
cpp is particles.cpp; a later one is a function, which takes the place of the one with the same first line,
or stands in front of main. A block of sh is run by bash, word for word; where a block of text is right
behind it, that is what the commands print. Two things may differ: numbers of bytes, and how the launcher
tells of a program that fails, as it must where the text has a line 'particles: ...'."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(cpp|cmake|sh)\n(.*?)^```\n(?:```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
INSTALL = "--prefix ~/opt/valet"  # a block of sh that has this: what the caller has done
ERROR = "particles: "


def with_function(program, function):
    """The program with this function in place of the one of its name, or else in front of main."""
    name = re.match(r"[^\n(]*\b(\w+)\(", function).group(1)
    old = re.search(rf"^\w[^\n(]*\b{name}\(.*?^}}\n", program, re.DOTALL | re.MULTILINE)
    if old:
        return program[:old.start()] + function + program[old.end():]
    main = program.index("int main(")
    return f"{program[:main]}{function}\n{program[main:]}"


def environment(directory, prefix, cxx, mpicc, mpicxx, mpiexec):
    """Where ~/opt/valet is the prefix and the programs of MPI are those of this build."""
    home, programs = directory / "home", directory / "programs"
    for folder in (home / "opt", programs):
        folder.mkdir(parents=True)
    (home / "opt/valet").symlink_to(prefix)
    for name, program in {"mpicc": mpicc, "mpicxx": mpicxx, "mpirun": mpiexec, "mpiexec": mpiexec}.items():
        (programs / name).symlink_to(program)
    return {**os.environ, "HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "CXX": cxx}


def comparable(text):
    return [re.sub(r"\d+(?= bytes)", "some", line.rstrip()) for line in text.strip().splitlines()]


def mistake(commands, shown, run):
    """What is wrong with a run of commands, or nothing."""
    wanted = comparable(shown or "")
    refused = [line for line in wanted if line.startswith(ERROR)]
    told = f"{commands}ends with {run.returncode} and prints\n{run.stdout}{run.stderr}"
    if (run.returncode != 0) != bool(refused):
        return told
    if shown is None:
        return None
    printed = comparable(run.stdout) + [line for line in comparable(run.stderr) if line.startswith(ERROR)]
    return None if printed == wanted else f"{told}in place of\n{shown}"


def main(page, directory, *installed):
    directory = Path(directory)
    shutil.rmtree(directory, ignore_errors=True)
    variables = environment(directory, *installed)
    code = directory / "particles"
    code.mkdir()
    program, runs = "", 0
    for language, block, shown in BLOCK.findall(Path(page).read_text()):
        if language == "cmake":
            (code / "CMakeLists.txt").write_text(block)
        elif language == "cpp":
            program = with_function(program, block) if program else block
            (code / "particles.cpp").write_text(program)
        elif INSTALL not in block:
            runs += 1
            run = subprocess.run(["bash", "-ec", block], cwd=code, env=variables, capture_output=True, text=True)
            wrong = mistake(block, shown or None, run)
            if wrong:
                print(f"{Path(page).name}: {wrong}")
                return 1
    lines = sum(1 for line in program.splitlines() if line.strip())
    print(f"{runs} groups of commands do what the page says; the program has {lines} lines")
    return 0 if runs else 1


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main(*sys.argv[1:]))
