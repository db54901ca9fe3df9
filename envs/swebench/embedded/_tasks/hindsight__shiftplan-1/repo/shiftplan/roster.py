"""Shifts by person, and the report of a day."""

from shiftplan.clock import format_time, parse_time
from shiftplan.interval import Interval, gaps, merge


class Roster:
    """The shifts of one day."""

    def __init__(self):
        self._shifts = {}

    def add(self, person, start, end):
        """Adds a shift from start to end, both "HH:MM"."""
        shift = Interval(parse_time(start), parse_time(end))
        if shift.length <= 0:
            raise ValueError(f"{person}: the shift ends before it begins")
        for other in self._shifts.get(person, []):
            if shift.overlaps(other):
                raise ValueError(f"{person} is on duty then already")
        self._shifts.setdefault(person, []).append(shift)

    def people(self):
        return sorted(self._shifts)

    def hours(self, person):
        """Returns how long a person is on duty, in hours."""
        return sum(s.length for s in self._shifts.get(person, [])) / 60

    def covered(self):
        """Returns when somebody is on duty, joined and in order."""
        return merge(s for shifts in self._shifts.values() for s in shifts)

    def report(self, start, end):
        """Returns one line per stretch of the window, in order."""
        window = Interval(parse_time(start), parse_time(end))
        lines = [("on duty", part) for s in self.covered() if (part := s.clip(window))]
        lines += [("nobody", part) for part in gaps(self.covered(), window)]
        lines.sort(key=lambda line: line[1])
        return "\n".join(
            f"{what:<8} {format_time(part.start)}-{format_time(part.end)}" for what, part in lines
        )
