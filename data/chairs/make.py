#!/usr/bin/env python3
"""Make the chairs of this folder from the Debian package sweethome3d-furniture.

    python3 make.py                     fetches the package with apt-get download
    python3 make.py PACKAGE.deb         uses a package file that is already there
    python3 make.py PACKAGE.deb OUT     writes to the folder OUT, not beside this script

Writes one NAME.npy per chair, (1024, 3) float32, and SOURCES.tsv.

The files of this folder were made with
    Python 3.11.7, NumPy 2.4.6
    sweethome3d-furniture_1.8-1_all.deb
    SHA-256 3ccb90c63f9525e887a767b9cd5c8b6933b8b6b2973a615a5359ee68a2118668

Nothing but the standard library and NumPy is needed. The random numbers come from
NumPy's PCG64 with a fixed seed, and each chair has its own stream, so the same package
gives the same files, and adding or removing a chair leaves the others as they are.
"""

import hashlib
import io
import lzma
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

import numpy as np

PACKAGE = "sweethome3d-furniture"
VERSION = "1.8-1"
SHA256 = "3ccb90c63f9525e887a767b9cd5c8b6933b8b6b2973a615a5359ee68a2118668"
POINTS = 1024
SEED = 1

CC0, BY, BY_US = "CC0-1.0", "CC-BY-3.0", "CC-BY-3.0-US"
BLENDSWAP = "http://www.blendswap.com/blends/view/"
SCOPIA = "Scopia Visual Interfaces Systems, s.l."
ETEKS = "Emmanuel Puybaret / eTeks and " + SCOPIA
KATOR = "Andrew Kator & Jennifer Legaz"
SCOPIA_AT = "http://www.scopia.es"
KATOR_AT = "http://www.sweethome3d.com"

# One chair per row: our name; library, folder of the model in it; the title its author
# gave it (empty where the package tells none); author; licence; address. Authors and
# titles are those of the licence file beside each model, or of the header of its OBJ
# file, or of the licence file of the whole library.
#
# winchester_armchair lies in the CC-0 library, but its own licence file says CC-BY 3.0;
# the stricter of the two is kept.
CHAIRS = [
    ("antique_chair", "BlendSwap-CC-0", "antiqueChair", "Antique Chair", "Niuskir", CC0, BLENDSWAP + "87504"),
    ("baby_high_chair", "Scopia", "baby_high_chair", "", ETEKS, BY, SCOPIA_AT),
    ("bar_chair", "Scopia", "bar_chair", "", SCOPIA, BY, SCOPIA_AT),
    ("bar_stool", "BlendSwap-CC-0", "silla2", "Owen Chair", "starkblend", CC0, BLENDSWAP + "14972"),
    ("bucket_armchair", "BlendSwap-CC-BY", "armchair1", "Armchair", "aymanslman", BY, BLENDSWAP + "73558"),
    ("cafe_chair", "KatorLegaz", "cafe-chair", "", KATOR, BY_US, KATOR_AT),
    ("camp_stool", "BlendSwap-CC-0", "foldingChair", "Animated folding chair", "Cocoblendy", CC0, BLENDSWAP + "86217"),
    ("child_chair", "BlendSwap-CC-BY", "childChair", "Chaild chair IKEA", "Radio_hate", BY, BLENDSWAP + "50221"),
    ("classroom_chair", "BlendSwap-CC-0", "plasticChair", "Classroom chair", "exL", CC0, BLENDSWAP + "66739"),
    ("club_armchair", "BlendSwap-CC-BY", "fotel", "ArmChairTripleJ", "tripleJ", BY, BLENDSWAP + "76009"),
    ("cushion_chair", "BlendSwap-CC-0", "chairWithCushion", "A chair and a table", "MZiemys", CC0, BLENDSWAP + "83888"),
    ("deck_chair", "BlendSwap-CC-0", "deckChair", "Beach Chairs Set", "BigMouse", CC0, BLENDSWAP + "66526"),
    ("decorative_chair", "BlendSwap-CC-0", "sillaBlanca", "Chair silla decorativa", "jviersalas", CC0, BLENDSWAP + "70921"),
    ("design_chair", "BlendSwap-CC-0", "designChair", "Design Chair And Table", "semhustej", CC0, BLENDSWAP + "20920"),
    ("desk_chair", "Scopia", "kids_desk_chair", "", SCOPIA, BY, SCOPIA_AT),
    ("dining_chair", "KatorLegaz", "dining-chair", "", KATOR, BY_US, KATOR_AT),
    ("headrest_armchair", "Scopia", "armchair1", "", SCOPIA, BY, SCOPIA_AT),
    ("high_armchair", "Scopia", "armchair3", "", SCOPIA, BY, SCOPIA_AT),
    ("kitchen_chair", "BlendSwap-CC-BY", "ella_chair_f", "Kitchen Chair", "sizzler", BY, BLENDSWAP + "40140"),
    ("kitchen_stool", "Scopia", "kitchen_stool", "", SCOPIA, BY, SCOPIA_AT),
    ("leaf_chair", "BlendSwap-CC-BY", "leaf_chair", "chair_leaf", "voodoc", BY, BLENDSWAP + "67190"),
    ("lecture_seat", "BlendSwap-CC-BY", "classSeat", "Lecture seats", "Ericblender7", BY, BLENDSWAP + "78934"),
    ("modern_armchair", "BlendSwap-CC-0", "modernArmchair", "Modern Arm Chair", "Dreadbwai", CC0, BLENDSWAP + "79458"),
    ("oak_chair", "BlendSwap-CC-0", "oakChair", "Oak Table", "Doug C", CC0, BLENDSWAP + "66530"),
    ("osaka_chair", "BlendSwap-CC-0", "osakaChair", "Osaka Chair", "Daniliescudsg", CC0, BLENDSWAP + "89574"),
    ("padded_armchair", "Scopia", "armchair2", "", SCOPIA, BY, SCOPIA_AT),
    ("padded_chair", "BlendSwap-CC-BY", "chair3", "", "MatBot", BY, "https://blendswap.com/blend/26127"),
    ("plaid_chair", "BlendSwap-CC-BY", "plaidChair", "plaid chair", "Cezar", BY, BLENDSWAP + "77791"),
    ("plastic_chair", "Scopia", "plastic_chair", "", SCOPIA, BY, SCOPIA_AT),
    ("rattan_armchair", "Scopia", "rattanArmchair", "", ETEKS, BY, SCOPIA_AT),
    ("ryokan_chair", "Scopia", "ryokanChair", "", ETEKS, BY, SCOPIA_AT),
    ("school_stool", "BlendSwap-CC-0", "stool", "School furniture", "redsymbzone", CC0, BLENDSWAP + "2098"),
    ("thonet_chair", "BlendSwap-CC-0", "thonet", "", "JoelEapen", CC0, "https://blendswap.com/blend/25377"),
    ("white_chair", "Scopia", "white_kitchen_chair", "", SCOPIA, BY, SCOPIA_AT),
    ("winchester_armchair", "BlendSwap-CC-0", "winchesterArmchair", "WinchesterSofa", "Gnanasaireddy", BY, BLENDSWAP + "89509"),
    ("wooden_chair", "Scopia", "chair", "", SCOPIA, BY, SCOPIA_AT),
]


def download():
    """The bytes of the package, fetched with apt-get download."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "download", f"{PACKAGE}={VERSION}"], cwd=folder, check=True)
        return next(pathlib.Path(folder).glob("*.deb")).read_bytes()


def libraries(deb):
    """The furniture libraries (.sh3f, zip files) in a Debian package, by name.

    A .deb is an ar archive: after 8 bytes, members with a header of 60 bytes (name in the
    first 16, size in bytes 48 to 58), each padded to an even length. The files lie in
    data.tar.xz.
    """
    at, data = 8, None
    while at < len(deb):
        name = deb[at : at + 16].decode().strip().rstrip("/")
        size = int(deb[at + 48 : at + 58])
        if name == "data.tar.xz":
            data = deb[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    if data is None:
        sys.exit("no data.tar.xz in the package")
    found = {}
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(data))) as tar:
        for member in tar:
            if member.name.endswith(".sh3f"):
                found[pathlib.PurePosixPath(member.name).stem] = zipfile.ZipFile(io.BytesIO(tar.extractfile(member).read()))
    return found


def catalogue(library):
    """The catalogue of a library, by the folder of the model: lines are key#number=value."""
    entries = {}
    text = library.read("PluginFurnitureCatalog.properties").decode("latin-1")
    for key, number, value in re.findall(r"^(\w+)#(\d+)=(.*?)\s*$", text, re.M):
        entries.setdefault(number, {})[key] = value
    return {entry["model"].split("/")[-2]: entry for entry in entries.values()}


def read_obj(text):
    """Vertices and triangles of an OBJ file: all its parts, faces split as fans."""
    vertices, triangles = [], []
    for line in text.replace("\\\n", " ").splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            vertices.append([float(x) for x in rest[:3]])
        elif word == "f":
            # A corner is vertex/texture/normal; negative numbers count from the end.
            corners = [int(corner.split("/")[0]) for corner in rest]
            corners = [c - 1 if c > 0 else len(vertices) + c for c in corners]
            triangles += [[corners[0], b, c] for b, c in zip(corners[1:], corners[2:])]
    return np.array(vertices), np.array(triangles)


def turn(vertices, rotation):
    """Sweet Home 3D's frame (y up, front +z) to ours (z up, front -y)."""
    if rotation:  # nine numbers, a matrix row by row, that stands the model upright
        vertices = vertices @ np.array([float(x) for x in rotation.split()]).reshape(3, 3).T
    x, y, z = vertices.T
    return np.stack([x, -z, y], axis=1)


def sample(vertices, triangles, rng):
    """POINTS points drawn uniformly by area over all triangles."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    total = np.cumsum(area)
    pick = np.searchsorted(total, rng.random(POINTS) * total[-1], side="right")
    pick = np.minimum(pick, len(total) - 1)
    # The square root makes the point uniform in its triangle.
    s = np.sqrt(rng.random(POINTS))[:, None]
    t = rng.random(POINTS)[:, None]
    return (1 - s) * a[pick] + s * (1 - t) * b[pick] + s * t * c[pick]


def normalise(cloud):
    """Mean point at the origin, largest distance to it one."""
    cloud = cloud - cloud.mean(axis=0)
    return cloud / np.sqrt((cloud**2).sum(axis=1).max())


def main(arguments):
    deb = pathlib.Path(arguments[0]).read_bytes() if arguments else download()
    out = pathlib.Path(arguments[1]) if len(arguments) > 1 else pathlib.Path(__file__).parent
    digest = hashlib.sha256(deb).hexdigest()
    if digest != SHA256:
        sys.exit(f"this is not {PACKAGE} {VERSION}: SHA-256 {digest}")
    out.mkdir(parents=True, exist_ok=True)
    library = libraries(deb)
    entries = {name: catalogue(library[name]) for name in {row[1] for row in CHAIRS}}
    lines = ["file\tmodel name\tauthor\tlicence\tlibrary\tpackage and version\tmodel folder\toriginal title\taddress"]
    for name, lib, folder, title, author, licence, address in CHAIRS:
        entry = entries[lib][folder]
        text = library[lib].read(entry["model"].lstrip("/")).decode("latin-1")
        vertices, triangles = read_obj(text)
        vertices = turn(vertices, entry.get("modelRotation"))
        rng = np.random.Generator(np.random.PCG64([SEED, zlib.crc32(name.encode())]))
        cloud = np.ascontiguousarray(normalise(sample(vertices, triangles, rng)), dtype="<f4")
        np.save(out / f"{name}.npy", cloud)
        lines.append("\t".join([f"{name}.npy", entry["name"], author, licence, lib, f"{PACKAGE} {VERSION}", folder, title, address]))
    (out / "SOURCES.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
