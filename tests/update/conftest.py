from cli.conftest import attempted, finished, run, selfplay, shop, together

__all__ = ["attempted", "finished", "run", "selfplay", "shop", "together"]
