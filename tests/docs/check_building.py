#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_building.py PAGE SOURCE: the tables of PAGE have every option of the CMake files in SOURCE, with
its default, no other, and every package that the scripts install."""

import re
import sys
from pathlib import Path

OPTION = re.compile(r'\boption\((\w+) "[^"]*" (\S+?)\)')
CHOICE = re.compile(r'\bset\(((?:VALET|BUILD)_\w+) (\S+) CACHE STRING')
# A row of the table of options, and how it says a default that depends on the project.
ROW = re.compile(r"^\| `((?:VALET|BUILD)_\w+)` \| (.*?) \|", re.MULTILINE)
SAID = {"${PROJECT_IS_TOP_LEVEL}": "`ON` at the top level", "${valet_assertions_default}": "`OFF` in Release"}
# There is this option at the top level only.
TOP_LEVEL_ONLY = {"BUILD_SHARED_LIBS": "`ON` at the top level"}


def options(source):
    """The defaults of the options, by name."""
    files = [source / "CMakeLists.txt", *source.glob("cmake/*.cmake")]
    files += [path for folder in ("src", "adapters", "tests", "examples")
              for path in (source / folder).rglob("CMakeLists.txt") if "install" not in path.parts]
    text = "\n".join(path.read_text() for path in files)
    return dict(OPTION.findall(text) + CHOICE.findall(text))


def option_errors(page, source):
    wanted = options(source)
    rows, before = {}, ""
    for name, default in ROW.findall(page[page.index("| option of CMake"):].split("\n\n")[0]):
        before = rows[name] = before if default == "as above" else default
    errors = [f"{name} has no row" for name in sorted(wanted.keys() - rows.keys())]
    errors += [f"{name} is no option" for name in sorted(rows.keys() - wanted.keys())]
    for name in sorted(wanted.keys() & rows.keys()):
        said = TOP_LEVEL_ONLY.get(name, SAID.get(wanted[name], f"`{wanted[name]}`"))
        if not rows[name].startswith(said):
            errors.append(f"{name} is {wanted[name]} by default, not {rows[name]}")
    return errors, len(wanted)


def package_errors(page, source):
    listed = re.search(r"valet_build_packages=\((.*?)\)", (source / "cmake/install_packages.sh").read_text(),
                       re.DOTALL).group(1).split()
    for script in ("tests/run.sh", "examples/run.sh"):
        text = (source / script).read_text()
        for packages in re.findall(r"^ *packages\+?=\(([^)]*)\)|^ *valet_install_packages ([a-z][^|\n]*)", text,
                                   re.MULTILINE):
            listed += re.sub(r'"[^"]*"', "", " ".join(packages)).split()
    named = {word for quoted in re.findall(r"`([^`\n]+)`", page) for word in quoted.split()}
    return [f"the package {name} is not named" for name in sorted(set(listed) - named)], len(set(listed))


def main(page, source):
    text = Path(page).read_text()
    wrong_options, option_count = option_errors(text, Path(source))
    wrong_packages, package_count = package_errors(text, Path(source))
    errors = wrong_options + wrong_packages
    print("\n".join(errors) or f"{option_count} options and {package_count} packages are as told")
    return 1 if errors or option_count < 10 or package_count < 10 else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main(*sys.argv[1:]))
