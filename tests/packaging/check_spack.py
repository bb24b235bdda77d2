#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_spack.py CMAKE FOLDER OPTION...: what cmake/spack/package.py gives to CMake is what its
variants say. Spack itself is not needed: a stand-in for its module records what the recipe declares.
FOLDER is for build trees, which are configured with CMAKE and OPTION... and not built."""

import re
import subprocess
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "cmake/spack/package.py"
# What CMake says where a variant is off; where it is on, it does not say so.
OFF = {
    "kokkos": "adapters/kokkos is off (VALET_KOKKOS=OFF)",
    "zoltan": "adapters/zoltan is off (VALET_ZOLTAN=OFF)",
}
# Variants that choose a dependency, not an option.
FOR_SPACK_ALONE = {"trilinos"}


class Declared:
    """The directives of the recipe: name -> list of (arguments, keywords)."""

    def __init__(self):
        self.calls = {}

    def directive(self, name):
        return lambda *args, **keywords: self.calls.setdefault(name, []).append((args, keywords))


class CMakePackage:
    """The two functions of Spack's class that the recipe uses, on a set of variants."""

    def __init__(self, variants):
        self.variants = variants

    def define(self, option, value):
        return f"-D{option}:BOOL={'ON' if value else 'OFF'}"

    def define_from_variant(self, option, variant):
        return self.define(option, self.variants[variant])


def load():
    declared = Declared()
    package = types.ModuleType("spack.package")
    package.CMakePackage = CMakePackage
    for name in ("license", "version", "variant", "generator", "depends_on", "conflicts"):
        setattr(package, name, declared.directive(name))
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": package})
    scope = {}
    exec(compile(RECIPE.read_text(), str(RECIPE), "exec"), scope)  # a mistake in the syntax ends here
    return scope["Valet"], declared.calls


def version():
    text = (ROOT / "src/include/valet/version.hpp").read_text()
    return ".".join(re.search(rf"VALET_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


def cmake_options():
    """Option -> default, as CMake declares it."""
    sources = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    text = "\n".join(source.read_text() for source in sources)
    found = re.findall(r'^\s*option\((\w+) "[^"]*" (\S+)\)', text, re.MULTILINE)
    return dict(found + re.findall(r"^set\((VALET_\w+) (AUTO|\$\{PROJECT_IS_TOP_LEVEL\}) CACHE", text, re.MULTILINE))


def check_options(recipe, variants):
    errors, options = [], cmake_options()
    everything = {name: True for name in variants}
    given = {arg.split(":")[0][2:]: arg for arg in recipe(everything).cmake_args()}
    for option in given:
        if option not in options:
            errors.append(f"CMake has no option {option}")
    # AUTO would take what happens to be on the machine.
    for option, default in options.items():
        if default == "AUTO" and option not in given:
            errors.append(f"{option} is left to what CMake finds")
    for name in variants - FOR_SPACK_ALONE:
        without = recipe({**everything, name: False}).cmake_args()
        changed = [option for option, arg in given.items() if arg not in without]
        if len(changed) != 1 or name.upper() not in changed[0] + "SHARED_LIBS":
            errors.append(f"the variant {name} changes {changed}")
        elif f"-D{changed[0]}:BOOL=OFF" not in without:
            errors.append(f"without {name} CMake is not given {changed[0]}=OFF")
    return errors


def configure(cmake, folder, arguments):
    (folder / "CMakeCache.txt").unlink(missing_ok=True)
    command = [cmake, "-G", "Ninja", "-S", ROOT, "-B", folder, *arguments]
    run = subprocess.run(command, capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def check_configuration(cmake, folder, options, recipe, variants):
    """CMake with all variants off, and what it then leaves out."""
    nothing = recipe({name: False for name in variants}).cmake_args()
    code, text = configure(cmake, folder, options + nothing)
    if code != 0:
        return [f"CMake fails with {nothing}:\n{text}"]
    errors = [f"without {name} CMake does not say '{line}':\n{text}" for name, line in OFF.items()
              if line not in text]
    targets = subprocess.run([cmake, "--build", folder, "--target", "help"], capture_output=True, text=True,
                             check=True).stdout
    for target in ("valet-bench", "valet_fortran", "valet_kokkos", "valet_zoltan", "valet_mpi_main", "amr"):
        if re.search(rf"^{target}: phony", targets, re.MULTILINE):
            errors.append(f"{target} is built without its variant")
    if not re.search(r"^libvalet\.a: phony", targets, re.MULTILINE):
        errors.append("without the variant shared there is no archive")
    return errors


def main(cmake, folder, options):
    recipe, declared = load()
    variants = {args[0] for args, _ in declared["variant"]}
    errors = check_options(recipe, variants)
    versions = [args[0] for args, _ in declared["version"]]
    if versions != [version()]:
        errors.append(f"the recipe is of {versions}, the source of {version()}")
    for name in ("kokkos", "zoltan"):
        for wish in (f"+{name}~trilinos", f"+{name}+trilinos"):
            if not any(name in args[0] and keywords.get("when") == wish
                       for args, keywords in declared["depends_on"]):
                errors.append(f"{wish} does not depend on {name}")
    errors += check_configuration(cmake, Path(folder), options, recipe, variants)
    print("\n".join(errors) or f"{len(variants)} variants fit")
    return 1 if errors else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
