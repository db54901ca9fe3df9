import pytest

from shiftplan import format_time, parse_time


@pytest.mark.parametrize("text, minutes", [("00:00", 0), ("9:05", 545), ("23:59", 1439), ("24:00", 1440)])
def test_parse_time(text, minutes):
    assert parse_time(text) == minutes


@pytest.mark.parametrize("text", ["", "9", "9:5", "09:60", "24:01", "a:00", "-1:00"])
def test_parse_time_refuses(text):
    with pytest.raises(ValueError):
        parse_time(text)


def test_format_time_is_the_inverse():
    assert all(parse_time(format_time(m)) == m for m in range(0, 1441))
