"""`leeward apiserver`: the API server alone, in the foreground; its options are those of kube-apiserver."""

from pathlib import Path
from typing import Any

import click

from kubeserver.cli import config_of, run, serving_options
from leeward.cli.settings import Settings


@click.command()
@serving_options
@click.pass_obj
def apiserver(settings: Settings, **options: Any) -> None:
    """Run the API server alone, in the foreground."""
    if not settings.data_dir:
        raise click.UsageError("--data-dir is missing: where the server keeps its objects")
    run(config_of(Path(settings.data_dir), **options))
