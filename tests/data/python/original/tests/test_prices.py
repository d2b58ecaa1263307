import unittest

from store import prices


class PricesTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(prices.total([(2.5, 2), (1.0, 1)]), 6.0)

    def test_total_with_discount(self):
        self.assertEqual(prices.total([(10.0, 1)], discount=0.25), 7.5)

    def test_discount_is_a_share(self):
        with self.assertRaises(ValueError):
            prices.total([], discount=1.5)

    def test_cheapest(self):
        self.assertEqual(prices.cheapest([(3, 1), (2, 9)]), (2, 9))
        self.assertIsNone(prices.cheapest([]))
