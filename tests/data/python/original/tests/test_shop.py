import unittest

from store import shop


class ShopTest(unittest.TestCase):
    def test_label(self):
        self.assertEqual(shop.shown("apple"), "Apple")

    def test_dial(self):
        self.assertEqual(shop.dial("fr"), 33)

    def test_report(self):
        self.assertEqual(shop.report(), "3 sold")

    def test_logo(self):
        self.assertEqual(shop.logo_size(), 64)

    def test_plugins(self):
        self.assertEqual(shop.plugins(), ["tax"])
