"""What a reader has chosen is in the address of a page, and is kept without one in a notebook."""

import html

import pytest

from deciban.report.bundle import bundle

HOME = "http://notebook.test/"
PAGE = f"""<!doctype html><link rel=icon href="data:,"><a href="#far">Far</a>
<p style="height: 4000px"></p><h2 id="far">Here</h2><script>{bundle("state")}
window.state = $state.createState({{ unit: "deciban" }});
</script>"""


def serve(page, body):
    page.route(
        f"{HOME}**",
        lambda route: route.fulfill(body=body, content_type="text/html; charset=utf-8"),
    )
    page.goto(HOME)


@pytest.fixture
def framed(page):
    frame = f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(PAGE)}"></iframe>'
    serve(page, f'<!doctype html><link rel=icon href="data:,"><h1>Notebook</h1>{frame}')
    return page.frame_locator("iframe")


def test_a_choice_is_in_the_address_and_links_within_the_page_keep_it(page):
    serve(page, PAGE)
    page.evaluate('state.set({ unit: "bit" })')
    page.wait_for_url(f"{HOME}#unit=%22bit%22")
    page.click("a")
    page.wait_for_function("scrollY > 2000")
    assert page.url == f"{HOME}#unit=%22bit%22"
    assert page.evaluate("state.get().unit") == "bit"
    assert page.evaluate("document.activeElement.id") == "far"
    page.reload()
    assert page.evaluate("state.get().unit") == "bit"


def test_the_last_of_many_quick_choices_is_in_the_address_and_in_the_copied_link(page):
    serve(page, PAGE)
    changes = page.evaluate(
        """() => { let n = 0; const replace = history.replaceState.bind(history);
        history.replaceState = (...all) => (n++, replace(...all));
        for (const unit of ["bit", "nat", "log10"]) state.set({ unit });
        const quick = location.hash;
        for (let k = 0; k < 500; k++) state.set({ unit: k });
        const dragged = location.hash;
        const clipboard = { writeText: (text) => (copied = text) };
        Object.defineProperty(navigator, "clipboard", { value: clipboard });
        $address.copyLink(document.createElement("button"));
        return { n, quick, dragged, copied }; }"""
    )
    assert changes["quick"] == "#unit=%22log10%22"
    assert changes["dragged"] != "#unit=499"
    assert changes["copied"] == f"{HOME}#unit=499"
    assert changes["n"] < 25  # of 503: browsers refuse more than a hundred in half a minute
    page.evaluate('state.set({ unit: "bit" })')
    page.wait_for_url(f"{HOME}#unit=%22bit%22")


def test_in_the_frame_of_a_notebook_choices_and_links_work_without_an_address(framed, page):
    framed.locator("body").evaluate('() => state.set({ unit: "bit" })')
    framed.get_by_role("link").click()
    framed.locator("#far:focus").wait_for()
    found = "() => [state.get().unit, scrollY > 2000, document.activeElement.id]"
    assert framed.locator("body").evaluate(found) == ["bit", True, "far"]
    assert page.url == HOME
