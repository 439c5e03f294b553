"""``python -m partwise``: the command line."""

from partwise.cli import command

if __name__ == "__main__":
    command()
