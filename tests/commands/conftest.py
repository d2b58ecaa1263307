from run_fixtures import backend, finished, selfplay, shop, source, together

__all__ = ["backend", "finished", "selfplay", "shop", "source", "together"]
