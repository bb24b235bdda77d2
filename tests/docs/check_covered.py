#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_covered.py DOCUMENT... -- SOURCE...: every public function of the C headers and of the Fortran
modules among the sources is in a snippet of its language in the documents. Those snippets are compiled
and run, as check_snippets.py says."""

import re
import sys
from pathlib import Path

from check_snippets import snippets

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
EXPORTED = re.compile(r"\b(?:VALET_EXPORT|static inline)\b[^;{(]*?\b(Valet_\w+)\(")
PUBLIC = re.compile(r"^  public :: ((?:.*&\n)*.*)$", re.MULTILINE)


def functions(path):
    """The language and the names; those that end with _init are for those that end with _default."""
    text = path.read_text()
    if path.suffix == ".f90":
        language, names = "fortran", re.findall(r"Valet_\w+", " ".join(PUBLIC.findall(text)))
    else:
        language, names = "c", EXPORTED.findall(COMMENT.sub("", text))
    return language, [name for name in names if not name.endswith("_init")]


def main(arguments):
    split = arguments.index("--")
    shown = {"c": set(), "fortran": set()}
    for document in map(Path, arguments[:split]):
        for language, code in snippets(document):
            if language in shown:
                shown[language] |= set(re.findall(r"\w+", code))
    found, missing = 0, []
    for source in map(Path, arguments[split + 1:]):
        language, names = functions(source)
        found += len(names)
        missing += [f"{source.name}: {name} is in no snippet" for name in names if name not in shown[language]]
        if not names:
            missing.append(f"{source.name}: no public function is found")
    print("\n".join(missing) or f"{found} functions are in snippets")
    return 1 if missing else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
