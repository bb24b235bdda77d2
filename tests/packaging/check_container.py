#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_container.py: cmake/container/Dockerfile installs what the README tells to install, and nothing
that the guide does not name.
check_container.py --commands STAGE: prints the commands of a stage (0 or 1), to type them where no
container engine is."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "cmake/container/Dockerfile"
# What an image for running needs beside the libraries of the packages in the README.
RUNS_WITH = {"openmpi-bin", "libgfortran5"}


def stages():
    """For each stage the instructions, as pairs of a word and the rest of its line."""
    text = re.sub(r"^#.*\n", "", RECIPE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    starts = [number for number, line in enumerate(lines) if line[0] == "FROM"]
    return [lines[start:end] for start, end in zip(starts, starts[1:] + [None])]


def installed(text):
    """The packages of all `apt-get install` in a text, without options and comments."""
    commands = re.findall(r"apt-get install ([^#&\n]*)", text)
    return {word for command in commands for word in command.split() if not word.startswith("-")}


def commands(stage):
    """The stage as a script for a shell; what it copies is left to who runs it."""
    forms = {"RUN": "{}", "ENV": "export {}", "WORKDIR": "mkdir -p {0} && cd {0}"}
    return [forms[word].format(rest) for word, rest in stage if word in forms]


def main():
    build, run = ("\n".join(rest for word, rest in stage if word == "RUN") for stage in stages())
    wanted = installed((ROOT / "README.md").read_text())
    building = (ROOT / "src/docs/building.md").read_text()
    named = {word for quoted in re.findall(r"`([^`\n]+)`", building) for word in quoted.split()}
    errors = [f"the README installs {name}, the build stage does not"
              for name in sorted(wanted - installed(build))]
    errors += [f"building.md does not name {name}" for name in sorted(installed(build) - named)]
    # libtrilinos-zoltan-13.2 comes from libtrilinos-zoltan-dev, libopenmpi40 from libopenmpi-dev.
    libraries = {re.sub(r"-?[\d.]+$", "", name) for name in installed(run) - RUNS_WITH}
    needed = {name.removesuffix("-dev") for name in wanted
              if re.match(r"lib(openmpi|trilinos-\w+)-dev$", name)}
    if libraries != needed:
        errors.append(f"the second stage has the libraries {sorted(libraries)}, not {sorted(needed)}")
    if not wanted:
        errors.append("the README installs nothing")
    print("\n".join(errors) or f"{len(installed(build))} and {len(installed(run))} packages")
    return 1 if errors else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    if sys.argv[1:2] == ["--commands"]:
        print("\n".join(commands(stages()[int(sys.argv[2])])))
        sys.exit(0)
    sys.exit(main())
