#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_vtk.py DIRECTORY RANKS: the files for ParaView are well formed and say what they should."""

import base64
import struct
import sys
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

FORMATS = {"Float32": "f", "Float64": "d", "Int8": "b", "UInt8": "B", "Int32": "i", "Int64": "q"}
HEXAHEDRA_OF_PIXELS = {11, 12}  # VTK_VOXEL, VTK_HEXAHEDRON


def decode(array):
    """The numbers of a DataArray: text, or base64 with VTK's header of 32-bit block sizes."""
    kind = FORMATS[array.get("type")]
    text = "".join(array.text.split())
    if array.get("format") == "ascii":
        return [float(word) for word in array.text.split()]
    count = struct.unpack("<I", base64.b64decode(text[:8])[:4])[0]
    header_bytes = 4 * (3 + count)
    header_chars = (header_bytes + 2) // 3 * 4
    header = struct.unpack(f"<{3 + count}I", base64.b64decode(text[:header_chars])[:header_bytes])
    data = base64.b64decode(text[header_chars:])
    raw, place = b"", 0
    for size in header[3:]:
        raw += zlib.decompress(data[place:place + size])
        place += size
    assert place == len(data), "bytes behind the last block"
    return list(struct.unpack(f"<{len(raw) // struct.calcsize(kind)}{kind}", raw))


def check_piece(path, ranks):
    """Returns the number of cells and their volume."""
    grid = ET.parse(path).getroot()
    assert grid.get("type") == "UnstructuredGrid", path
    piece = grid.find("UnstructuredGrid/Piece")
    cells, points = int(piece.get("NumberOfCells")), int(piece.get("NumberOfPoints"))
    arrays = {array.get("Name"): decode(array) for array in piece.iter("DataArray")}
    place = arrays[piece.find("Points/DataArray").get("Name")]
    assert len(place) == 3 * points and len(arrays["connectivity"]) == 8 * cells, path
    assert set(arrays["types"]) <= HEXAHEDRA_OF_PIXELS, path
    assert all(0 <= corner < points for corner in arrays["connectivity"]), path
    for name in ("phase", "home", "work", "treeid" if "treeid" in arrays else "level"):
        assert len(arrays[name]) == cells, (path, name)
    assert all(-1e-9 <= value <= 1 + 1e-9 for value in arrays["phase"]), path
    assert all(0 <= home < ranks for home in arrays["home"]), path
    assert all(2 <= level <= 3 for level in arrays["level"]), path
    volume = sum(8.0 ** -level for level in arrays["level"])
    return cells, volume


def main():
    directory, ranks = Path(sys.argv[1]), int(sys.argv[2])
    wholes = sorted(directory.glob("mesh_*.pvtu"))
    assert len(wholes) == 2, wholes
    for whole in wholes:
        root = ET.parse(whole).getroot()
        assert root.get("type") == "PUnstructuredGrid", whole
        pieces = [piece.get("Source") for piece in root.iter("Piece")]
        assert len(pieces) == ranks, pieces
        counts = [check_piece(whole.parent / Path(piece).name, ranks) for piece in pieces]
        assert abs(sum(volume for _, volume in counts) - 1) < 1e-9, "the leaves cover the cube"
        print(f"{whole.name}: {sum(cells for cells, _ in counts)} cells in {ranks} pieces")


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    main()
