#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_reference.py DIRECTORY: the reference in DIRECTORY/html has a page for every header that is
named in DIRECTORY/headers.txt and for no other, and every link and picture in it is there."""

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
    errors += [f"'{title}' is private" for title in titles if "::detail" in title]
    return errors


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
            elif place and target in places and place not in places[target]:
                errors.add(f"{name}: {target} has no place '{place}'")
    return sorted(errors)


def main(docs):
    directory = docs / "html"
    headers = set((docs / "headers.txt").read_text().split())
    pages = {path.name: path.read_text() for path in directory.glob("*.html")}
    errors = page_errors(pages, headers) + link_errors(directory, pages)
    print("\n".join(errors) or f"{len(pages)} pages, all links are good")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
