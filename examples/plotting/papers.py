# SPDX-License-Identifier: BSD-3-Clause
"""The papers' figures and tables: published numbers next to measured ones.

Reads the points that `examples/papers.py DIRECTORY` collected. Writes a picture of each figure whose points
exist, and papers.md with tables of the numbers and the command of each point.
"""

import json

from . import layout_index, papers_madre, papers_pinar, papers_zhuang

# The files of a study, the function that plots it, the function that makes its tables.
STUDIES = [("layout_index*.json", lambda directory, _: layout_index.draw(directory), None),
           ("madre*.json", papers_madre.draw, papers_madre.tables),
           ("phases*.json", papers_pinar.draw, papers_pinar.tables),
           ("zhuang*.json", papers_zhuang.draw, papers_zhuang.tables)]


def documents_of(directory, pattern):
    """The contents of the files, by name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(directory.glob(pattern))}


def draw(directory):
    lines = ["# The papers' figures and tables", ""]
    found = {}
    for pattern, draw_study, tables in STUDIES:
        documents = documents_of(directory, pattern)
        if not documents:
            continue
        found.update(documents)
        draw_study(directory, documents)
        lines += tables(documents) if tables else []
    if not found:
        raise FileNotFoundError(2, "missing", str(directory / "madre*.json"))
    found.update(documents_of(directory, "simulated*.json"))
    lines += ["## Commands", ""]
    lines += [f"- `{name}`: `{document['command']}`" for name, document in sorted(found.items())
              if "command" in document]
    path = directory / "papers.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(path)
