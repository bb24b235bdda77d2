#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_snippets.py DOCUMENT... -- SOURCE...: every snippet of C, C++ and Fortran in the documents,
fenced in Markdown or between @code and @endcode, is in a source of its language, which is compiled.
Word for word, but for white space and comments; what is separated by an empty line in the snippet
may be further apart in the source."""

import re
import sys
from pathlib import Path

SUFFIXES = {"cpp": ".cpp", "c": ".c", "fortran": ".f90"}
FENCED = re.compile(r"^ *```(cpp|c|fortran)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
TAGGED = re.compile(r"@code\{\.(cpp|c|f90)\}\n(.*?)@endcode", re.DOTALL)


def plain(text):
    """Without comments and white space; of a docstring, without its left margin."""
    return re.sub(r"//[^\n]*|\s+", "", re.sub(r"^ \* ?", "", text, flags=re.MULTILINE))


def snippets(path):
    text = path.read_text()
    found = FENCED.findall(text) if path.suffix == ".md" else TAGGED.findall(text)
    return [("fortran" if language == "f90" else language, code) for language, code in found]


def main(arguments):
    split = arguments.index("--")
    sources = {suffix: [plain(Path(name).read_text()) for name in arguments[split + 1:]
                        if Path(name).suffix == suffix] for suffix in SUFFIXES.values()}
    found, missing = 0, []
    for document in map(Path, arguments[:split]):
        for language, code in snippets(document):
            found += 1
            parts = [plain(part) for part in re.split(r"\n[ *]*\n", code)]
            if not any(all(part in source for part in parts)
                       for source in sources[SUFFIXES[language]]):
                missing.append(f"{document.name}: this is compiled nowhere:\n{code}")
    print("\n".join(missing) or f"{found} snippets are compiled")
    return 1 if missing or found == 0 else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
