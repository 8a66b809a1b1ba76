"""Packages that the bill of materials names: those of the image, each once."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_package_has_one_version_and_that_is_the_one_of_the_image_s_python() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "image-packages")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    listed = (ROOT / "deploy" / "requirements.txt").read_text()
    named = re.findall(r"^([\w.-]+)==", said, re.MULTILINE)
    assert named == sorted(set(re.findall(r"^([\w.-]+)==", listed, re.MULTILINE)))
    assert re.findall(r"^numpy==\S+ ; python_full_version >= '3.12'", listed, re.MULTILINE)
    (numpy,) = re.findall(r"^numpy==(\S+)", said, re.MULTILINE)
    assert f"numpy=={numpy} ; python_full_version >= '3.12'" in listed
    assert said.count("--hash=") > len(named)


def test_the_bill_of_materials_is_made_of_them() -> None:
    (made,) = re.findall(r"^sbom:.*?\n\n", (ROOT / "Makefile").read_text(), re.MULTILINE | re.DOTALL)
    assert "scripts/image-packages > build/image-packages.txt\n" in made
    assert "cyclonedx_py requirements build/image-packages.txt " in made
