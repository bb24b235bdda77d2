#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_workflow.py: what .github/workflows/ci.yml runs exists, with the options it is given, and
covers what is promised; so does what the README has users type, which tests/roots/run.sh types; the forms
for issues have what they must. Nothing is run but --help and --list."""

import itertools
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

try:
    import yaml
except ImportError:
    print("skipped: no module yaml (Debian and Ubuntu: python3-yaml)")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
# What containers bring, or a step installs before.
SYSTEM = {"apt-get", "git"}
IMAGES = {"debian:12", "debian:13", "ubuntu:24.04", "ubuntu:26.04"}
COVERED = {"--lint", "--sanitize", "--clang", "--mpich"}


def script_options(script):
    text = subprocess.run([ROOT / script, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"--[a-z]+", text))


def presets(kind):
    listed = json.loads((ROOT / "CMakePresets.json").read_text())[kind]
    return {preset["name"] for preset in listed if not preset.get("hidden")}


def cmake_options():
    sources = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    declared = r"^\s*(?:option|set)\((VALET_\w+)"
    return set(re.findall(declared, "\n".join(s.read_text() for s in sources), re.MULTILINE))


def combinations(matrix):
    """The jobs a matrix stands for, each as a dictionary."""
    lists = {name: values for name, values in matrix.items() if name != "include"}
    products = [dict(zip(lists, values)) for values in itertools.product(*lists.values())]
    return [job for job in products if job] + matrix.get("include", [])


def fill(text, values):
    """`text` for one job of a matrix; what the matrix does not set is an error."""
    def value(match):
        if match.group(1) not in values:
            raise ValueError(f"the matrix does not set {match.group(1)}: {text}")
        return str(values[match.group(1)])

    return re.sub(r"\$\{\{\s*matrix\.(\w+)\s*\}\}", value, text)


def check_command(words):
    """An error about one command, or None."""
    program, arguments = words[0], words[1:]
    if program.endswith(".sh"):
        if not (ROOT / program).is_file() or not (ROOT / program).stat().st_mode & 0o100:
            return f"{program} is no script that can be run"
        unknown = [word for word in arguments if word not in script_options(program)]
        return f"{program} has no option {unknown}" if unknown else None
    if program in ("cmake", "ctest"):
        kinds = {"cmake": "buildPresets" if "--build" in words else "configurePresets", "ctest": "testPresets"}
        for option, value in zip(arguments, arguments[1:]):
            if option == "--preset" and value not in presets(kinds[program]):
                return f"{program}: there is no preset {value}"
        for word in arguments:
            name = re.match(r"-D(VALET_\w+)=", word)
            if name and name.group(1) not in cmake_options():
                return f"there is no option {name.group(1)}"
        return None
    return None if program in SYSTEM else f"{program} is neither in the source nor of the system"


def check_job(job):
    """Errors, and the pairs of image and command that the job runs."""
    errors, ran = [], []
    for values in combinations(job.get("strategy", {}).get("matrix", {})) or [{}]:
        fill(job.get("name", ""), values)
        image = fill(job["container"], values)
        if image not in IMAGES:
            errors.append(f"unexpected image {image}")
        for step in job["steps"]:
            if "run" not in step:
                if not re.fullmatch(r"actions/checkout@v\d+", step["uses"]):
                    errors.append(f"unexpected action {step['uses']}")
                continue
            for line in fill(step["run"], values).splitlines():
                words = shlex.split(line)
                ran.append((image, words))
                errors.append(check_command(words))
    return errors, ran


def check_workflow(path):
    workflow = yaml.safe_load(path.read_text())
    # YAML 1.1 reads the key "on" as true.
    errors = [] if {"push", "pull_request"} <= set(workflow.get(True, {})) else ["not run for each change"]
    ran = []
    for job in workflow["jobs"].values():
        job_errors, job_ran = check_job(job)
        errors += job_errors
        ran += job_ran
    tests = [(image, set(words[1:])) for image, words in ran if words[0] == "tests/run.sh"]
    missing = COVERED - set().union(*(options for _, options in tests))
    if missing:
        errors.append(f"no job runs tests/run.sh {missing}")
    untested = IMAGES - {image for image, options in tests if not options}
    if untested:
        errors.append(f"no job runs all tests in {untested}")
    return errors


def check_readme():
    """Errors about the commands that are typed in a clean root."""
    listed = subprocess.run([ROOT / "tests/roots/run.sh", "--list", "--more", "sid"], capture_output=True, text=True,
                            check=True).stdout
    commands = [shlex.split(part, comments=True) for line in listed.splitlines() for part in line.split("&&")]
    programs = [words[0] for words in commands if words and "=" not in words[0]]
    missing = {"apt-get", "cmake", "./examples/run.sh", "./tests/run.sh"} - set(programs)
    errors = [f"the README has no command {program}" for program in sorted(missing)]
    # An example is a word without dashes, and the script itself says what it does not know.
    return errors + [check_command([word for word in words if word == words[0] or word.startswith("-")])
                     for words in commands if words and words[0] in programs]


def check_form(path):
    form = yaml.safe_load(path.read_text())
    if path.name == "config.yml":
        return [] if "blank_issues_enabled" in form else ["no blank_issues_enabled"]
    errors = [f"{path.name}: no {key}" for key in ("name", "description", "body") if not form.get(key)]
    identities = [part.get("id") for part in form.get("body", []) if part["type"] != "markdown"]
    if len(set(identities)) != len(identities) or None in identities:
        errors.append(f"{path.name}: ids are {identities}")
    errors += [f"{path.name}: {part.get('id')} has no label" for part in form.get("body", [])
               if part["type"] != "markdown" and not part["attributes"].get("label")]
    return errors


def main():
    errors = check_workflow(ROOT / ".github/workflows/ci.yml") + check_readme()
    forms = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    for form in forms:
        errors += check_form(form)
    errors = [error for error in errors if error]
    print("\n".join(errors) or f"the workflow and {len(forms)} files for issues fit")
    return 1 if errors or not forms else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main())
