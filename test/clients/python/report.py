"""Prints one line for each check and counts them."""
import sys

from shapes import mismatches


def print_line(line):
    sys.stdout.write(line + '\n')
    sys.stdout.flush()


class Report:
    """`known_gaps` are checks that fail by a known difference, printed as `gap`. One that passes is a failure."""

    def __init__(self, known_gaps, write=print_line):
        self.known_gaps = known_gaps
        self.write = write
        self.failures = 0

    def check(self, what, problem):
        """`problem` is None or a text `expected ..., got ...`."""
        if what in self.known_gaps and problem is None:
            problem = 'expected a known gap, got the answer of the facts: take it off KNOWN_GAPS'
        elif what in self.known_gaps:
            self.write('gap %s: %s' % (what, problem))
            return False
        if problem is None:
            self.write('ok %s' % what)
            return True
        self.failures += 1
        self.write('FAILED %s: %s' % (what, problem))
        return False

    def equal(self, what, expected, got):
        return self.check(what, None if expected == got else 'expected %r, got %r' % (expected, got))

    def true(self, what, holds, got=None):
        return self.check(what, None if holds else 'expected it, got %s' % (got,))

    def status(self, what, expected, answer):
        return self.check(what, None if answer.status == expected else 'expected %d, got %s' % (expected, answer))

    def shape(self, what, shape, answer):
        """The body of the answer when it is a 200 of the shape, {} otherwise."""
        body = answer.json()
        if answer.status != 200 or body is None:
            self.check(what, 'expected 200 with JSON, got %s' % answer)
            return {}
        self.shape_of(what, shape, body)
        return body

    def shape_of(self, what, shape, value):
        wrong = mismatches(shape, value)
        more = ' (and %d more)' % (len(wrong) - 3) if len(wrong) > 3 else ''
        return self.check(what, '; '.join(wrong[:3]) + more if wrong else None)
