# SPDX-License-Identifier: BSD-3-Clause
"""The lists of mutants, and what is wrong with them."""

import pathlib
import re

NAMES = ["attached", "schedule", "storage", "geometry", "plan", "verification", "dropin", "engine", "pages",
         "zoltan_lists", "rebalance", "p4est", "cabana", "device", "objects", "pulls", "executions", "junction"]
LEAST = 150  # mutants in all lists
HERE = pathlib.Path(__file__).resolve().parent


class Mutant:
    """One change of one line, and the tests that have to notice it."""

    def __init__(self, place, file, tests, within, old):
        self.place, self.file, self.tests = place, file, tests
        self.within, self.old, self.new, self.explanation = within, old, None, ""

    def identity(self):
        return self.file, tuple(self.tests), self.within, self.old, self.new

    def __str__(self):
        return f"{self.place} {self.file}: '{self.old}' -> '{self.new}'"

    def misfit(self, text):
        """What is wrong with it, for this text of its file; nothing where all is well."""
        if self.new is None or self.new == self.old:
            return "has no line '+' with something else"
        if self.within and text.count(self.within) != 1:
            return f"'{self.within}' is there {text.count(self.within)} times, not once"
        found = text.count(self.old, text.index(self.within) if self.within else 0)
        if found == 0 or (found > 1 and not self.within):
            return f"'{self.old}' is there {found} times, not once"
        return ""

    def applied_to(self, text):
        at = text.index(self.old, text.index(self.within) if self.within else 0)
        dropped = ";" if self.old.endswith(";") else ""  # it may be all that an if or a loop has
        return text[:at] + (self.new or dropped) + text[at + len(self.old):]


def read(name):
    """The mutants of a list; README.txt describes the form."""
    mutants, file, tests, within = [], "", [], ""
    for number, line in enumerate((HERE / f"{name}.txt").read_text().splitlines(), 1):
        mark, rest = line[:2].strip(), line[2:].strip()
        if mark in ("", "#"):
            continue
        if mark == "f":
            file, tests, within = rest, [], ""
        elif mark == "t":
            tests = rest.split()
        elif mark == "@":
            within = rest
        elif mark == "-":
            mutants.append(Mutant(f"{name}.txt:{number}", file, tests, within, rest))
            within = ""
        elif mark == "+" and mutants:
            mutants[-1].new = rest
        elif mark == "=" and mutants:
            mutants[-1].explanation = f"{mutants[-1].explanation} {rest}".strip()
        else:
            raise SystemExit(f"{name}.txt:{number}: begins with none of '# ', 'f ', 't ', '@ ', "
                             f"'- ', '+ ', '= ': {line}")
    return mutants


def name_of(test):
    """Its name in ctest; behind a colon the list may have a filter for GoogleTest."""
    return test.partition(":")[0]


def filter_of(test):
    return test.partition(":")[2]


def program_of(test):
    """The name of its target, without 'test_'."""
    return re.sub(r"_np\d+$", "", name_of(test))


def misfits(root, folders):
    """Mutants that do not fit the sources, or whose tests nobody registers."""
    lists = "\n".join(path.read_text() for path in (root / "tests").rglob("CMakeLists.txt"))
    programs = set(re.findall(r"NAME (\w+)", lists))
    for items, prefix in re.findall(r"foreach\(test IN ITEMS ([^)]*)\)\s*valet_add_test\(NAME (\w+)\${test}", lists):
        programs.update(prefix + item for item in items.split())
    errors, seen = [], set()
    for mutant in (mutant for mutants in folders.values() for mutant in mutants):
        path = root / mutant.file
        wrong = mutant.misfit(path.read_text()) if path.is_file() else "there is no such file"
        unknown = [test for test in mutant.tests if program_of(test) not in programs]
        if not mutant.tests or unknown:
            wrong = wrong or f"names no tests, or unknown ones: {unknown}"
        if mutant.identity() in seen:
            wrong = wrong or "stands in the list twice"
        seen.add(mutant.identity())
        if wrong:
            errors.append(f"{mutant}\n    {wrong}")
    return errors
