"""`leeward completion`"""

import click

VARIABLE = "_LEEWARD_COMPLETE"
"""Set by the script when it asks the program what may follow."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes verbs and options in a shell.

    \b
    bash   source <(leeward completion bash)         in ~/.bashrc
    zsh    source <(leeward completion zsh)          in ~/.zshrc
    fish   leeward completion fish | source          in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    scripts = get_completion_class(shell)
    assert scripts is not None
    click.echo(scripts(context.find_root().command, {}, "leeward", VARIABLE).source())
