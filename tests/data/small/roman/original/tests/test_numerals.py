import unittest

from roman import numerals


class WrittenTest(unittest.TestCase):
    def test_one_sign(self):
        self.assertEqual(numerals.written(10), "X")

    def test_less_before_more(self):
        self.assertEqual(numerals.written(1994), "MCMXCIV")
        self.assertEqual(numerals.written(49), "XLIX")

    def test_out_of_range(self):
        with self.assertRaises(ValueError):
            numerals.written(0)
        self.assertRaises(ValueError, numerals.written, 4000)


class ReaderTest(unittest.TestCase):
    def setUp(self):
        self.reader = numerals.Reader(strict=True)

    def test_read(self):
        self.assertEqual(numerals.Reader().read(" mcmxciv "), 1994)

    def test_normal_form(self):
        self.assertEqual(self.reader.read("XIV"), 14)
        with self.assertRaises(ValueError):
            self.reader.read("IIII")
