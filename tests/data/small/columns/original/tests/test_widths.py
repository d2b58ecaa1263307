import doctest
import unittest

from columns import widths


def fits():
    """
    >>> widths.wrapped("aa bb", 5)
    ['aa bb']
    >>> widths.wrapped("aaa bb cc", 5)
    ['aaa', 'bb cc']
    """


def columns():
    """
    >>> widths.table([["name", "x"], ["a", "y"]])
    ['name x', 'a    y']
    """


class DocTest(unittest.TestCase):
    def test_fits(self):
        self.assertEqual(doctest.DocTestRunner(verbose=False).run(case(fits), out=lambda text: None).failed, 0)

    def test_columns(self):
        self.assertEqual(doctest.DocTestRunner(verbose=False).run(case(columns), out=lambda text: None).failed, 0)

    def test_empty(self):
        self.assertEqual(widths.wrapped("", 5), [])


def case(function):
    return doctest.DocTestFinder().find(function, function.__name__, globs=globals())[0]
