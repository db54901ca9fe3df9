"""Times of a day as minutes after midnight."""

MINUTES_PER_DAY = 24 * 60


def parse_time(text):
    """Reads "HH:MM"; "24:00" is the day's end."""
    hours, sep, minutes = text.partition(":")
    if not sep or not (hours.isdigit() and minutes.isdigit()) or len(minutes) != 2:
        raise ValueError(f"no time of the form HH:MM: {text!r}")
    total = int(hours) * 60 + int(minutes)
    if int(minutes) > 59 or total > MINUTES_PER_DAY:
        raise ValueError(f"no time of a day: {text!r}")
    return total


def format_time(minutes):
    """Writes minutes after midnight as "HH:MM"."""
    if not 0 <= minutes <= MINUTES_PER_DAY:
        raise ValueError(f"{minutes} minutes are not within a day")
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
