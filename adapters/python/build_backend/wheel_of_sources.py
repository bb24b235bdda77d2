# SPDX-License-Identifier: BSD-3-Clause
"""Makes the wheel of the package: its sources as they are. What pip asks for (PEP 517), and no more,
so that nothing has to be fetched to install it."""

import base64
import hashlib
import pathlib
import re
import zipfile

root = pathlib.Path(__file__).resolve().parent.parent


def _project():
    text = (root / "pyproject.toml").read_text()
    return {key: re.search(rf'^{key} = "(.*)"', text, re.M)[1] for key in ("name", "version", "description")}


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = _project()
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = f"{stem}.dist-info"
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted((root / "valet").glob("*.py*"))}
    files["valet/py.typed"] = b""
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        f"Summary: {project['description']}\nLicense: BSD-3-Clause\nRequires-Python: >=3.9\n"
        "Requires-Dist: numpy\nRequires-Dist: mpi4py\n").encode()
    files[f"{info}/WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: valet\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    record = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}")
    files[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode()
    wheel = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return wheel
