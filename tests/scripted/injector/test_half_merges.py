"""Reverts that the rest of the program does not fit, each as it was seen in a real project, and right ones beside."""

import ast

import pytest

from selfplay.scripted.injector.half_merges import Fit
from selfplay.scripted.injector.index import Index

USER = """
from shop import Shop, price

def buy(config):
    shop = Shop()
    if config["PRETTY"]:
        shop.greet("you", loud=True)
    shop.close()
    shop.counter
    price(1, 2)
    return shop.name.lower()
"""
SHOP = """
DEFAULTS = dict({"PRETTY": None, "OTHER": 1})

class Shop:
    counter = 0

    def __init__(self):
        self.name = "shop"

    def greet(self, name, loud=False):
        return name

    def close(self):
        lower = 1
        return lower

    @staticmethod
    def twice(n):
        return 2 * n

def price(amount, each=1):
    return amount * each

def other():
    return Shop.twice(3), price(amount=2), Shop().greet(*["a"])
"""


def misfit(old: str, new: str, *, user: str = USER) -> str:
    assert old in SHOP
    texts = {"shop.py": SHOP, "user.py": user}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    return Fit(trees, Index(texts, trees)).misfit("shop.py", SHOP.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"PRETTY": None, ', "", "nothing sets ['PRETTY'] any more"),  # flask
        ("    def close(self):\n        lower = 1\n        return lower\n", "", "nothing has .close any more"),  # bs4
        ("def price(amount, each=1)", "def price(amount, each, more)", "price() does not take what it is given"),
        ("(self, name, loud=False)", "(self, name)", "greet() does not take what it is given"),  # simplejson
        ("    counter = 0\n", "", "nothing has .counter any more"),
        ('self.name = "shop"', "pass", "nothing has .name any more"),
        ("def twice(n)", "def twice(n, m)", "twice() does not take what it is given"),
    ],
)
def test_half_of_a_change_is_seen(old: str, new: str, said: str) -> None:
    assert misfit(old, new) == said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"OTHER": 1', '"THIRD": 1'),  # nobody reads it
        ("        lower = 1\n        return lower\n", "        pass\n"),  # `.lower` is anybody's
        ("def price(amount, each=1)", "def price(amount, each=2, more=3)"),
        ("def price(amount, each=1)", "def price(*amount, **each)"),
        ("(self, name, loud=False)", "(self, name, *, loud=True)"),
        ("    @staticmethod\n    def twice(n)", "    @other\n    def twice(n, m)"),  # it may take anything
        ("def other():", "def gone():"),
        ("return amount * each", "return amount"),
    ],
)
def test_a_whole_change_fits(old: str, new: str) -> None:
    assert misfit(old, new) == ""


def test_of_two_of_one_name_nothing_is_said() -> None:
    """Which of them is called cannot be seen."""
    user = USER + "\nclass Other:\n    def greet(self, name, loud):\n        pass\n    def close(self):\n        pass\n"
    assert misfit("(self, name, loud=False)", "(self, name)", user=user) == ""
    assert misfit("    def close(self):\n        lower = 1\n        return lower\n", "", user=user) == ""


def test_what_did_not_fit_before_is_not_the_change_s_doing() -> None:
    user = USER.replace("price(1, 2)", "price(1, 2, 3)")
    assert misfit("def price(amount, each=1)", "def price(amount, each=1, *, more=1)", user=user) == ""
