from shiftplan import Interval, gaps, merge


def test_merge_joins_what_overlaps():
    assert merge([Interval(10, 20), Interval(15, 30)]) == [Interval(10, 30)]


def test_merge_joins_what_touches():
    assert merge([Interval(20, 30), Interval(10, 20)]) == [Interval(10, 30)]


def test_merge_keeps_what_is_apart():
    assert merge([Interval(30, 40), Interval(10, 20)]) == [Interval(10, 20), Interval(30, 40)]


def test_clip():
    assert Interval(10, 20).clip(Interval(15, 40)) == Interval(15, 20)
    assert Interval(10, 20).clip(Interval(20, 40)) is None


def test_gaps_of_nothing_is_the_window():
    assert gaps([], Interval(0, 60)) == [Interval(0, 60)]


def test_gaps_around_and_between():
    assert gaps([Interval(10, 20), Interval(30, 40)], Interval(0, 60)) == [
        Interval(0, 10),
        Interval(20, 30),
        Interval(40, 60),
    ]
