import pytest

from shiftplan import Roster


def roster(*shifts):
    r = Roster()
    for shift in shifts:
        r.add(*shift)
    return r


def test_report():
    r = roster(("ada", "09:00", "17:00"), ("ben", "18:00", "22:00"))
    assert r.report("09:00", "22:00") == (
        "on duty  09:00-17:00\nnobody   17:00-18:00\non duty  18:00-22:00"
    )


def test_hours():
    r = roster(("ada", "09:00", "12:30"), ("ada", "13:00", "17:00"))
    assert r.hours("ada") == 7.5
    assert r.hours("nobody") == 0


def test_a_person_is_in_one_place():
    r = roster(("ada", "09:00", "17:00"))
    with pytest.raises(ValueError, match="already"):
        r.add("ada", "16:00", "18:00")
