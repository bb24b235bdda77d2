#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_readme.py README PAGE...: the README is short, and leads to every page of the guide."""

import re
import sys
from pathlib import Path

MOST_WORDS = 1200


def main(readme, pages):
    readme = Path(readme)
    text = readme.read_text()
    # The lines between the cells of a table are no words.
    words = len([word for word in text.split() if word.strip("|-")])
    # A link above the source is one to a page of the service that hosts it, as that of the badge of CI.
    links = {(readme.parent / link).resolve() for link in re.findall(r"\]\(([^)#:]+)\)", text)
             if not link.startswith("../../")}
    errors = [f"it has {words} words, more than {MOST_WORDS}"] if words > MOST_WORDS else []
    errors += [f"no link leads to {page.name}" for page in pages if page.resolve() not in links]
    errors += [f"{link} is not there" for link in sorted(links) if not link.exists()]
    print("\n".join(errors) or f"{words} words and all {len(pages)} pages of the guide")
    return 1 if errors or not pages else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main(sys.argv[1], [Path(page) for page in sys.argv[2:]]))
