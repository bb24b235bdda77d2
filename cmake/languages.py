#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tasks in C++, C and Fortran side by side, for the API reference.

languages.py check SOURCE_DIR         every function of C and Fortran is in languages.txt, and all there in snippets
languages.py write SOURCE_DIR FILE    src/docs/groups.dox with a table for each group, and its snippets side by side
languages.py page FILE                a page of the guide as Doxygen needs it, with places for links of the tables"""

import re
import sys
from pathlib import Path

SUFFIX = {"C++": "cpp", "C": "c", "Fortran": "fortran"}
TAGGED = re.compile(r"@code\{\.(cpp|c|f90)\}\n(.*?)@endcode\n", re.DOTALL)
FENCED = re.compile(r"^( *)```(cpp|c|fortran)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
EXPORTED = re.compile(r"\b(?:VALET_EXPORT|static inline)\b[^;{(]*?\b(Valet\w+)\(")
PUBLIC = re.compile(r"^  public :: ((?:.*&\n)*.*)$", re.MULTILINE)
PROCEDURE = re.compile(r"^ *(?:\w[^!\n']* )?(?:function|subroutine) (Valet_\w+)\(([^)]*)\)", re.MULTILINE)


def place(file, number):
    return f"snippet_{Path(file).stem}_{number}"


def functions(source):
    """The functions of C, and the procedures of Fortran with their modules and arguments."""
    c, fortran, arguments = [], {}, {}
    for header in [*source.glob("src/include/valet/*.h"), *source.glob("adapters/*/include/**/*.h")]:
        c += EXPORTED.findall(re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL))
    for module in [*source.glob("src/bindings/fortran/*.f90"), *source.glob("adapters/*/src/**/*.f90")]:
        text = module.read_text()
        fortran |= dict.fromkeys(re.findall(r"Valet_\w+", " ".join(PUBLIC.findall(text))), module.stem)
        arguments |= {name: re.sub(r"[&\s]+", " ", listed) for name, listed in PROCEDURE.findall(text)}
    fortran = {name: (module, arguments.get(name, "")) for name, module in fortran.items()
               if (name in arguments or name in c) and not name.endswith("_init")}
    return {name for name in c if not name.endswith("_init")}, fortran


def snippets(source):
    """(language, code, place, group) of each snippet, those of the groups first."""
    text, found = (source / "src/docs/groups.dox").read_text(), []
    for number, match in enumerate(TAGGED.finditer(text)):
        group = re.findall(r"@defgroup (\w+)", text[:match.start()])[-1]
        language = match[1].replace("f90", "fortran")
        found.append((language, match[2], place("groups", number), group))
    for page in [*sorted(source.glob("src/docs/*.md")), source / "README.md"]:
        found += [(match[2], match[3], place(page, number), "")
                  for number, match in enumerate(FENCED.finditer(page.read_text()))]
    return found


def pattern(name, language):
    if language != "cpp":
        return rf"\b{name}\b"
    scope, _, last = name.rpartition("::")
    member = scope[:1].isupper() or "::" in scope and scope.rpartition("::")[2][:1].isupper()
    return rf"(?:\.|->|::){last}\b" if member else rf"\bvalet::(?:\w+::)?{last}\b"


def read_rows(source):
    """For each group its rows: the task, and the names of C++, of C and of Fortran."""
    c, fortran = functions(source)
    groups, errors = {}, []
    for line in (source / "cmake/languages.txt").read_text().splitlines():
        if line and line[0] != "#" and "|" not in line:
            rows = groups.setdefault(line, [])
        elif "|" in line:
            task, cpp, names, *more = [part.strip() for part in line.split("|")]
            names, more = names.split(), more[0].split() if more else []
            rows.append((task, cpp.split(), names, [name for name in names if name in fortran] + more))
    for language, column, all_names in (("C", 2, c), ("Fortran", 3, fortran)):
        listed = [name for rows in groups.values() for row in rows for name in row[column]]
        errors += [f"{language}: {name} is in no row of languages.txt" for name in sorted(set(all_names) - set(listed))]
        errors += [f"{language}: languages.txt has {name}, which is not there"
                   for name in sorted(set(listed) - set(all_names))]
        errors += [f"{language}: {name} is in two rows" for name in sorted(set(listed)) if listed.count(name) > 1]
    return groups, fortran, errors


def tables(source):
    """The table of each group, and what is wrong with it."""
    groups, fortran, errors = read_rows(source)
    known, result = snippets(source), {}
    for group, rows in groups.items():
        text = '<table class="languages">\n<tr><th>C++</th><th>C</th><th>Fortran</th></tr>\n'
        for task, *columns in rows:
            text += f'<tr><th colspan="3">{task}</th></tr>\n<tr>'
            for (title, language), names in zip(SUFFIX.items(), columns):
                cells = []
                for name in names:
                    found = [(other != group, where) for kind, code, where, other in known
                             if kind == language and re.search(pattern(name, language), code)]
                    if not found:
                        errors.append(f"{title}: {name} is in no snippet")
                        continue
                    where = min(found, key=lambda one: one[0])[1]
                    if language == "fortran":
                        if not cells and fortran[name][0] != "valet":
                            cells.append(f"<tt>use {fortran[name][0]}</tt>")
                        cells.append(f'@ref {where} "{name}"({fortran[name][1]})')
                    else:
                        full = f"valet::{name}" if language == "cpp" else name
                        cells.append(f'@ref {full} "{name}" (@ref {where} "snippet")')
                text += f"<td>{'<br>'.join(cells)}</td>" if cells else '<td class="none">&ndash;</td>'
            text += "</tr>\n"
        result[group] = text + "</table>\n"
    return result, errors


def side_by_side(text):
    """Snippets of different languages that follow each other, next to each other."""
    order, runs, end, number = ["cpp", "c", "f90"], [], -1, 0
    for number, match in enumerate(TAGGED.finditer(text)):
        shown = (match[1], match.start(), match.end(), f"<div>@anchor {place('groups', number)}\n"
                 f"{match[0].replace('{.f90}', '{.unparsed}')}</div>\n")
        if runs and not text[end:match.start()].strip() and order.index(runs[-1][-1][0]) < order.index(match[1]):
            runs[-1].append(shown)
        else:
            runs.append([shown])
        end = match.end()
    for run in reversed(runs):
        text = (text[:run[0][1]] + '<div class="languages">\n' + "".join(one[3] for one in run) + "</div>\n"
                + text[run[-1][2]:])
    return text


def page(path):
    text, counted = path.read_text(), iter(range(10**6))
    text = FENCED.sub(lambda match: f"{match[1]}@anchor {place(path, next(counted))}\n\n{match[0]}", text)
    # What no test compiles is fenced as c++, which is none to Doxygen, and it would show Fortran in small letters.
    text = text.replace("```c++", "```cpp").replace("```fortran", "```{.unparsed}")
    # In lists, Doxygen 1.9 takes the end of a line for that of a link's text, and loses all that follows.
    text = re.sub(r"\[([^]\[]*\n[^]\[]*)\]\(", lambda match: f"[{' '.join(match[1].split())}](", text)
    # Pages refer to each other relative to themselves; badges link to the page of the repository, so they go.
    # Doxygen does not know headings by the names that hosts of repositories give them.
    text = re.sub(r"^\[!.*badge.*\n", "", text, flags=re.MULTILINE)
    text = text.replace("](../../", "](").replace("](README.md)", "](index.html)")
    text = re.sub(r"\]\(([a-z_/.]*[.]md)#[a-z0-9-]*\)", r"](\1)", text)
    return re.sub(r"\[([^]]*)\]\(#[a-z0-9-]*\)", r"\1", text)


def main(mode, path, output=None):
    if mode == "page":
        print(page(path), end="")
        return 0
    written, errors = tables(path)
    if errors:
        print("\n".join(errors))
        return 1
    if mode == "check":
        print(f"{sum(len(table.split('colspan')) - 1 for table in written.values())} tasks in {len(written)} groups")
        return 0
    text = side_by_side((path / "src/docs/groups.dox").read_text())
    for group, table in written.items():
        head = rf"@defgroup {group} .*\n\n(?:(?![*]/).+\n)+"
        text = re.sub(head, lambda match: match[0] + "\n" + table, text, count=1)
    output.write_text(text)
    return 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main(sys.argv[1], *map(Path, sys.argv[2:])))
