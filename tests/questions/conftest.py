from tests.commands.conftest import ask

__all__ = ["ask"]
