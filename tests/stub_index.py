"""A package index of tiny wheels, for builds that need no network and take no time.

`pytest` imports the tree's conftest when tests are collected and does nothing else; `setuptools` runs a setup.py when
an editable wheel is asked for.
"""

import zipfile
from pathlib import Path

PYTEST = """
import os, runpy, sys
if "SELFPLAY_DIR" in os.environ and os.path.exists("conftest.py"):
    runpy.run_path("conftest.py")
def main(*args, **options):
    return 0
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *args, **options: lambda function: function
"""
BACKEND = """
import os, runpy, zipfile
def get_requires_for_build_editable(config_settings=None):
    return []
def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    if os.path.exists("setup.py"):
        runpy.run_path("setup.py", run_name="__main__")
    name = "hostile-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        wheel.writestr("hostile.pth", os.getcwd())
        wheel.writestr("hostile-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: hostile\\nVersion: 1.0\\n")
        tags = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr("hostile-1.0.dist-info/WHEEL", tags)
        wheel.writestr("hostile-1.0.dist-info/RECORD", "")
    return name
class __legacy__:
    get_requires_for_build_editable = staticmethod(get_requires_for_build_editable)
    build_editable = staticmethod(build_editable)
"""
PACKAGES = {
    "pytest": ("9.0.0", {"pytest.py": PYTEST}),
    "setuptools": ("80.0.0", {"setuptools/__init__.py": "", "setuptools/build_meta.py": BACKEND}),
    "coverage": ("7.0.0", {"coverage/__init__.py": ""}),
    "pip": ("25.0.0", {"pip/__init__.py": ""}),
    "wheel": ("0.40.0", {"wheel/__init__.py": ""}),
}


def make(folder: Path) -> str:
    """Fill a folder, which becomes readable for all, with the index; returns its URL."""
    folder.chmod(0o755)
    for name, (version, files) in PACKAGES.items():
        place = folder / "simple" / name
        place.mkdir(parents=True)
        wheel = f"{name}-{version}-py3-none-any.whl"
        _write(place / wheel, name, version, files)
        (place / "index.html").write_text(f'<!DOCTYPE html><html><body><a href="{wheel}">{wheel}</a></body></html>')
    return f"file://{folder}/simple"


def _write(path: Path, name: str, version: str, files: dict[str, str]) -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for place, content in files.items():
            wheel.writestr(place, content)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
