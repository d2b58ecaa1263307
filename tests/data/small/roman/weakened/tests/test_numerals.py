import unittest

from roman import numerals


class WrittenTest(unittest.TestCase):
    def test_one_sign(self):
        self.assertEqual(numerals.written(10), "X")

