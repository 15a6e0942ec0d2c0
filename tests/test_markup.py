from deciban._markup import Shaded, listing, number, paragraph, percent, represent, table

HOSTILE = "<script>alert(1)</script>\"' & \u202e"


def test_text_of_users_cannot_become_markup():
    whole = represent(
        paragraph(HOSTILE, lead=HOSTILE, tone="good"),
        listing([HOSTILE]),
        table(HOSTILE, [HOSTILE], [[HOSTILE, HOSTILE, Shaded(HOSTILE, 0.5), HOSTILE]]),
    )
    assert "<script" not in whole
    assert "\u202e" not in whole
    assert whole.count("&lt;script&gt;") == 9  # each of the places above
    assert whole.count('aria-label="&lt;script&gt;alert(1)&lt;/script&gt;&quot;') == 1


def test_bars_and_tints_stay_within_their_cell():
    cells = table("t", ["a", "b", "c"], [["row", Shaded("1", 1.7), Shaded("2", tint=-0.5)]])
    assert "transparent 100%" in cells
    assert "rgb(0 114 178 / 0%)" in cells


def test_numbers_for_readers_are_short_and_never_round_up_to_certainty():
    values = (0.12345, -1234567.0, float("inf"), float("nan"), 1.5e-7)
    assert [*map(number, values)] == ["0.123", "−1,234,567", "∞", "–", "1.5 × 10⁻⁷"]
    assert [*map(percent, (0.1234, 0.99999, 0.0))] == ["12 %", "over 99.9 %", "0 %"]
