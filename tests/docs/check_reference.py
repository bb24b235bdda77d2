#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_reference.py DIRECTORY: the reference in DIRECTORY/html has a page for every header that is
named in DIRECTORY/headers.txt and for no other, everything public is in a group, what is internal is not
told, and every link and picture in it is there."""

import html
import re
import sys
from pathlib import Path
from urllib.parse import unquote


def page_errors(pages, headers):
    """Headers without a page, pages of other headers, and private names."""
    titles = [re.search(r"<title>(.*?)</title>", text).group(1) for text in pages.values()]
    found = {title.split()[1] for title in titles if title.endswith("File Reference")}
    errors = [f"{header} has no page" for header in sorted(headers - found)]
    errors += [f"{header} has a page, but is not public" for header in sorted(found - headers)]
    errors += [f"{name} shows commands of Doxygen" for name, text in pages.items()
               if re.search("^@(section|code|anchor)", text, re.MULTILINE)]
    errors += [f"'{title}' is private" for title in titles if "::detail" in title]
    return errors


INTERNAL = {"Ledger", "SlotList"}  # named in the interface of storages of one's own, told in the headers
GROUPS = {"Start here", "Storage", "Plans", "Layouts", "Between programs", "Adapters", "C and Fortran"}


def group_errors(pages):
    """Classes and functions without a group, groups that are not there, and internals."""
    errors = []
    for name, text in pages.items():
        title = re.search(r"<title>(.*?)</title>", text).group(1).split(": ", 1)[-1]
        if re.search(r" (Class|Struct)( Template)? Reference$", title):
            if 'class="ingroups"' not in text:
                errors.append(f"'{title}' is in no group")
            if title.split()[0].split("::")[-1].split("&lt;")[0] in INTERNAL:
                errors.append(f"'{title}' is internal")
        elif title.endswith("Namespace Reference"):
            # What is in a group is told there.
            errors += [f"{told} of '{title}' is in no group"
                       for told in re.findall(r'class="memtitle">.*?</span>(.*?)</h2>', text)]
    groups = "".join(text for name, text in pages.items() if name.startswith("group__"))
    listed = set(re.findall(r"\w+", "".join(re.findall(r'<table class="languages">.*?</table>', groups, re.DOTALL))))
    errors += [f"{function} is in no table of tasks" for function in
               sorted(set(re.findall(r'class="memtitle">.*?</span>(\w+)\(\)', groups)) - listed)
               if not function.endswith("_init")]
    titles = {html.unescape(re.search(r"<title>(.*?)</title>", text).group(1)).split(": ", 1)[-1]
              for name, text in pages.items() if name.startswith("group__")}
    return errors + [f"there is no group {group}" for group in sorted(GROUPS - titles)]


def link_errors(directory, pages):
    """Links to files, or places in pages, that are not there."""
    places = {name: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for name, text in pages.items()}
    errors = set()
    for name, text in pages.items():
        for link in re.findall(r'\b(?:href|src)="([^"]+)"', text):
            link = unquote(html.unescape(link))
            if re.match(r"[a-z]+:", link):
                continue
            target, _, place = link.partition("#")
            target = target or name
            if not (directory / target).exists():
                errors.add(f"{name}: {link} is not there")
            # Letters over Doxygen's own indices, which lead to nothing where its list is short (1.17).
            elif place.startswith("index_") and re.match(r"(functions|globals)", name):
                continue
            elif place and target in places and place not in places[target]:
                errors.add(f"{name}: {target} has no place '{place}'")
    return sorted(errors)


def main(docs):
    directory = docs / "html"
    headers = set((docs / "headers.txt").read_text().split())
    pages = {path.name: path.read_text() for path in directory.glob("*.html")}
    errors = page_errors(pages, headers) + group_errors(pages) + link_errors(directory, pages)
    print("\n".join(errors) or f"{len(pages)} pages, all links are good")
    return 1 if errors else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main(Path(sys.argv[1])))
