"""The build's hook: writes into the wheel and the source archive which commit they were built from."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RECORD = "leeward/build.json"


class BuildRecord(BuildHookInterface[Any]):
    """Adds `build.json`, with the commit and its date; not the hour of the build, so that it can be repeated."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version == "editable":
            return
        record = self._unpacked_record() or self._commit_here()
        path = Path(tempfile.mkdtemp(prefix="leeward-build-")) / "build.json"
        path.write_text(json.dumps(record, indent=2) + "\n")
        within = RECORD if self.target_name == "wheel" else f"src/{RECORD}"
        build_data["force_include"][str(path)] = within

    def _unpacked_record(self) -> dict[str, Any] | None:
        """What an unpacked source archive says of itself; a wheel is built from there, too."""
        path = Path(self.root, "src", RECORD)
        return json.loads(path.read_text()) if path.is_file() else None

    def _commit_here(self) -> dict[str, Any]:
        """Of LEEWARD_COMMIT, for images that are built without a repository, or of the repository."""
        if given := os.environ.get("LEEWARD_COMMIT"):
            return {"commit": given, "committed": "", "changed": False}
        commit, _, committed = self._git("log", "-1", "--format=%H %cI").partition(" ")
        changed = bool(commit and self._git("status", "--porcelain", "--untracked-files=no"))
        return {"commit": commit, "committed": committed, "changed": changed}

    def _git(self, *arguments: str) -> str:
        if not Path(self.root, ".git").exists():
            return ""
        done = subprocess.run(
            ["git", "-C", self.root, *arguments], capture_output=True, text=True, check=False, timeout=30
        )
        return done.stdout.strip() if done.returncode == 0 else ""
