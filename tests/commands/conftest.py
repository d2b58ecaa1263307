from run_fixtures import backend, finished, selfplay, shop, source

__all__ = ["backend", "finished", "selfplay", "shop", "source"]
