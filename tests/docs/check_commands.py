#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_commands.py PROGRAM DOCUMENT...: what a document shows as the output of PROGRAM is what it
prints. A command in a block of sh, the only one of the block and one of PROGRAM, whose output is the
block of text right behind it."""

import re
import subprocess
import sys
from pathlib import Path

SHOWN = re.compile(r"^```sh\n([^\n]+)\n```\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def lines(text):
    return [line.rstrip() for line in text.rstrip().splitlines()]


def main(program, documents):
    found, errors = 0, []
    for document in map(Path, documents):
        for command, shown in SHOWN.findall(document.read_text()):
            name, *arguments = command.split()
            if Path(name).name != Path(program).name:
                continue
            found += 1
            run = subprocess.run([program, *arguments], capture_output=True, text=True)
            if run.returncode != 0:
                errors.append(f"{document.name}: {command} fails:\n{run.stderr}")
            elif lines(run.stdout) != lines(shown):
                errors.append(f"{document.name}: {command} prints\n{run.stdout}")
    print("\n".join(errors) or f"{found} outputs are as shown")
    return 1 if errors or found == 0 else 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
