from run_fixtures import backend, calibrated, finished, selfplay, shop, source, together

__all__ = ["backend", "calibrated", "finished", "selfplay", "shop", "source", "together"]
