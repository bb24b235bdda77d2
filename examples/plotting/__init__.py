# SPDX-License-Identifier: BSD-3-Clause
"""The plots of plot.py, one module each. Finds matplotlib before any of them is imported."""

import os
import sys

try:
    import matplotlib
except ImportError:
    # The distribution's matplotlib belongs to the distribution's Python, which may not be the first on
    # the path.
    system_python = "/usr/bin/python3"
    if sys.executable != system_python and os.access(system_python, os.X_OK):
        os.execv(system_python, [system_python, *sys.argv])
    sys.exit("plot.py: matplotlib is missing; install python3-matplotlib")

matplotlib.use("Agg")
