"""Half-open intervals of minutes, and what is between them."""

from typing import NamedTuple


class Interval(NamedTuple):
    """From start to end, the end not included."""

    start: int
    end: int

    @property
    def length(self):
        return self.end - self.start

    def overlaps(self, other):
        return self.start < other.end and other.start < self.end

    def clip(self, window):
        """Returns the part inside the window, or None."""
        start = max(self.start, window.start)
        end = min(self.end, window.end)
        return Interval(start, end) if start < end else None


def merge(intervals):
    """Joins intervals that overlap or touch; the result is sorted."""
    merged = []
    for interval in sorted(intervals):
        if merged and interval.start <= merged[-1].end:
            last = merged.pop()
            interval = Interval(last.start, interval.end)
        merged.append(interval)
    return merged


def gaps(intervals, window):
    """Returns what of the window no interval covers."""
    free = []
    at = window.start
    for interval in merge(intervals):
        part = interval.clip(window)
        if part is None:
            continue
        if at < part.start:
            free.append(Interval(at, part.start))
        at = part.end
    if at < window.end:
        free.append(Interval(at, window.end))
    return free
