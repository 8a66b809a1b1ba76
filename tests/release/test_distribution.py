"""Packages that users install: the wheels, in empty environments without the repository, on each Python here."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from kubecluster import __version__ as cluster_version
from kubeserver import __version__ as server_version
from leeward import __version__

ROOT = Path(__file__).parents[2]
UV = ROOT / ".venv" / "bin" / "uv"
WHEEL = f"leeward-{__version__}-py3-none-any.whl"
ARCHIVE = f"leeward-{__version__}.tar.gz"
SERVER_WHEEL = f"leeward_kubeserver-{server_version}-py3-none-any.whl"
SERVER_ARCHIVE = f"leeward_kubeserver-{server_version}.tar.gz"
CLUSTER_WHEEL = f"leeward_kubecluster-{cluster_version}-py3-none-any.whl"
CLUSTER_ARCHIVE = f"leeward_kubecluster-{cluster_version}.tar.gz"
FOLDERS = {WHEEL: ".", SERVER_WHEEL: "kubeserver", CLUSTER_WHEEL: "kubecluster"}
"""Folder of the source of each wheel."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Versions that are tried where they are here; those that pyproject's classifiers name have been."""
PLATFORM = "x86_64-manylinux_2_28"
PATIENCE_SECONDS = 300
PAGE = "src/leeward/dashboard/page"
"""Folder of the built page of the dashboard, which git does not know: `make page`."""


def run(*command: object, cwd: Path, **environment: str) -> str:
    """Runs with nothing of the repository's environment; gives what was printed."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
    downloads = {"UV_CACHE_DIR": str(Path.home() / ".cache" / "uv"), **kept}
    clean = {"PATH": os.environ["PATH"], "HOME": str(cwd), "LC_ALL": "C.UTF-8", **downloads, **environment}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def checkout(into: Path) -> Path:
    """A copy of what git knows, as it is in the working tree, and of the page that was built from it."""
    listed = run("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, into / name)
    shutil.copytree(ROOT / PAGE, into / PAGE)
    return into


def build(source: Path, into: Path) -> Path:
    for folder in FOLDERS.values():
        command = (sys.executable, "-m", "hatchling", "build", "-d", into)
        run(*command, cwd=source / folder, LEEWARD_COMMIT="0123456789abcdef")
    return into


def packages(built: Path, wheel: str) -> set[str]:
    """Names of the packages in a wheel."""
    names = zipfile.ZipFile(built / wheel).namelist()
    return {name.split("/")[0] for name in names} - {f"{wheel.removesuffix('-py3-none-any.whl')}.dist-info"}


def environment(python: str, folder: Path, *wheels: Path | str) -> Path:
    """Programs of a new environment with these wheels, and the libraries that the image has."""
    run(UV, "venv", "--quiet", "--python", python, folder, cwd=folder.parent)
    installed = ("--quiet", "--python", folder, "-c", ROOT / "deploy" / "requirements.txt", *wheels)
    run(UV, "pip", "install", *installed, cwd=folder.parent)
    return folder / "bin"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheels and the source archives."""
    return build(checkout(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("dist"))


def interpreter(version: str) -> str:
    """Path of a Python that is here, on the path or in pyenv; empty without one."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = [shutil.which(f"python{version}"), *map(str, pyenv.glob(f"{version}.*/bin/python{version}"))]
    return next((path for path in found if path is not None and _runs(path)), "")


def _runs(path: str) -> bool:
    """A shim of pyenv may name a Python that is not chosen."""
    return subprocess.run([path, "-c", ""], capture_output=True, timeout=PATIENCE_SECONDS).returncode == 0


def test_a_build_can_be_repeated_elsewhere(built: Path, tmp_path: Path) -> None:
    again = build(checkout(tmp_path / "source"), tmp_path / "dist")
    files = (WHEEL, ARCHIVE, SERVER_WHEEL, SERVER_ARCHIVE, CLUSTER_WHEEL, CLUSTER_ARCHIVE)
    assert {name: digest(built / name) for name in files} == {name: digest(again / name) for name in files}


@pytest.mark.parametrize(
    ("archive", "wheel"), [(ARCHIVE, WHEEL), (SERVER_ARCHIVE, SERVER_WHEEL), (CLUSTER_ARCHIVE, CLUSTER_WHEEL)]
)
def test_an_archive_builds_the_same_wheel(built: Path, archive: str, wheel: str, tmp_path: Path) -> None:
    run("tar", "--extract", "--no-same-owner", "--file", built / archive, cwd=tmp_path)
    source = tmp_path / archive.removesuffix(".tar.gz")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=source)
    assert digest(tmp_path / wheel) == digest(built / wheel)


def test_a_wheel_has_its_packages_and_nothing_of_the_tests(built: Path) -> None:
    assert packages(built, WHEEL) == {"leeward"}
    assert packages(built, SERVER_WHEEL) == {"kubeserver", "kubeapi"}
    assert packages(built, CLUSTER_WHEEL) == {"kubecluster", "controller_runtime", "kubeclient"}
    names = zipfile.ZipFile(built / WHEEL).namelist()
    here = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and not {"__pycache__", "simulator"} & {*path.relative_to(ROOT / "src").parts}
    }
    assert here <= set(names)
    page = PAGE.removeprefix("src/")
    assert f"{page}/index.html" in names
    licences = zipfile.ZipFile(built / WHEEL).read(f"{page}/LICENSES.txt").decode()
    _, *told = re.split(r"^(\S+) [\d.]+ \([\w.-]+\)\n\n", licences, flags=re.MULTILINE)
    texts = dict(zip(told[::2], told[1::2], strict=True))
    assert "svelte" in texts
    assert [name for name, text in texts.items() if "Copyright" not in text] == []
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.parametrize("version", PYTHONS)
def test_only_the_wheels_are_needed_to_see_a_failover(built: Path, version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    if not python:
        pytest.skip(f"there is no Python {version} here: the wheel has not been tried on it")
    home = tmp_path / "home"
    home.mkdir()
    programs = environment(python, tmp_path / "venv", *(built / wheel for wheel in FOLDERS))
    leeward = programs / "leeward"
    assert json.loads(run(leeward, "version", "-o", "json", cwd=home))["commit"] == "0123456789abcdef"
    assert run(leeward, "demo", cwd=home).rstrip().endswith("ok")


def test_uvx_runs_it_without_an_installation(built: Path, tmp_path: Path) -> None:
    found = ("--find-links", built, "--from", built / WHEEL)
    told = run(UV, "tool", "run", "--python", sys.executable, *found, "leeward", "--version", cwd=tmp_path)
    assert told == f"leeward {__version__}\n"


@pytest.mark.parametrize(
    ("wheels", "tests"),
    [((SERVER_WHEEL,), "tests/kubeserver"), ((SERVER_WHEEL, CLUSTER_WHEEL), "tests/kubecluster")],
    ids=["kubeserver", "kubecluster"],
)
def test_a_distribution_passes_its_tests_without_leeward(
    built: Path, wheels: tuple[str, ...], tests: str, tmp_path: Path
) -> None:
    """No package of Leeward is there, and none of its libraries."""
    tools = ("pytest", "pytest-xdist", "hypothesis", "kubernetes")
    programs = environment(sys.executable, tmp_path / "venv", *(built / wheel for wheel in wheels), *tools)
    for name in ("tests", "docs", "pyproject.toml"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, tmp_path / name)
    (tmp_path / "kubeserver").mkdir()
    shutil.copy2(ROOT / "kubeserver" / "README.md", tmp_path / "kubeserver")
    assert run(programs / "kubeserver", "--help", cwd=tmp_path)
    run(programs / "pytest", "-n", "auto", "-m", "not long", tests, cwd=tmp_path)


def test_the_classifiers_name_only_versions_that_are_tried() -> None:
    prefix = "Programming Language :: Python :: "
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    named = {each.removeprefix(prefix) for each in classifiers if each.startswith(prefix)} - {"3", "3 :: Only"}
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in named
    assert named <= set(PYTHONS)


@pytest.mark.parametrize("version", PYTHONS)
def test_each_library_has_a_wheel_so_that_nothing_is_compiled(version: str, tmp_path: Path) -> None:
    wheels = ("--only-binary", ":all:", "--python-version", version, "--python-platform", PLATFORM)
    target = ("--quiet", "--target", tmp_path / "libraries")
    run(UV, "pip", "install", *target, *wheels, "-r", ROOT / "deploy" / "requirements.txt", cwd=tmp_path)
    tags = {path.name.split(".")[1] for path in (tmp_path / "libraries" / "msgspec").glob("_core.*.so")}
    assert tags == {f"cpython-{version.replace('.', '')}-x86_64-linux-gnu"}
