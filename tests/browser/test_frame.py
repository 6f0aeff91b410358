"""The frame and its script in a real browser: failures are seen, keys are scoped, nothing foreign acts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from salvor_admin.web import layout
from salvor_admin.web.layout import Account, Count, Place, WorkspaceLink
from tests.browser import urls
from tests.browser.pages import Visit, axe, too_wide

pytestmark = pytest.mark.urls("tests.browser.urls")

NOOR = Account(
    name="Noor Haddad",
    initials="NH",
    username="noor",
    roles=("settler",),
    sign_out_url="/sign-out/",
    settings_url=None,
    workspaces=(WorkspaceLink("payments-eu", "Payments EU", "/home/", True),),
)


@pytest.fixture(autouse=True)
def frame(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    places = [
        Place("Home", "home", 1, lambda request: "/home/", exact=True),
        Place("Inbox", "inbox", 2, lambda request: "/list/", lambda request: Count(140, "calls waiting"), "i"),
    ]
    monkeypatch.setattr(layout, "_places", places)
    monkeypatch.setattr(layout, "_account_of", [lambda request: NOOR])
    urls.posts.clear()
    urls.approved.clear()
    urls.session["alive"] = True
    urls.parts[0] = "<p>3 wait</p>"
    yield


def typed(page: Page, words: str = "seen at the provider") -> Page:
    page.get_by_label("Reason").fill(words)
    return page


def advertised(page: Page) -> list[str]:
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    rows = page.locator("#keys dl > div:visible")
    keys = [" ".join(row.locator("kbd").all_inner_texts()) for row in rows.all()]
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    return keys


# --- answers that fail -----------------------------------------------------------------------------------------------


def test_a_refused_fragment_shows_beside_the_form_and_keeps_what_was_typed(visit: Callable[..., Visit]) -> None:
    page = typed(visit().goto("/item/refused/"))
    page.get_by_role("button", name="Settle").click()
    notice = page.locator("form [role=alert]")
    expect(notice).to_contain_text("wrong_state")
    expect(notice).to_be_focused()
    expect(page.get_by_label("Reason")).to_have_value("seen at the provider")
    expect(page.locator("#answer")).to_have_text("nothing yet")


@pytest.mark.parametrize("way", ["text", "proxy"])
def test_an_answer_that_is_no_fragment_of_ours_is_never_swapped_in(visit: Callable[..., Visit], way: str) -> None:
    page = visit().goto(f"/item/{way}/")
    page.get_by_role("button", name="Settle").click()
    expect(page.locator("form [role=alert]")).to_contain_text("could not be shown")
    expect(page.locator("#answer")).to_have_text("nothing yet")
    assert urls.approved == []


def test_silence_of_the_server_is_called_unknown(visit: Callable[..., Visit]) -> None:
    seen = visit()
    page = typed(seen.goto("/item/good/"))
    page.route("**/send/**", lambda route: route.abort())
    page.get_by_role("button", name="Settle").click()
    expect(page.locator("form [role=alert]")).to_contain_text("is not known")
    expect(page.get_by_label("Reason")).to_have_value("seen at the provider")
    seen.complaints.clear()  # htmx itself writes the aborted request to the console


def test_typed_text_survives_a_session_that_ended(visit: Callable[..., Visit]) -> None:
    page = typed(visit().goto("/item/ended/"))
    page.get_by_label("Sure").check()
    page.get_by_label("Password").fill("never kept")
    urls.session["alive"] = False
    page.get_by_role("button", name="Settle").click()
    expect(page.get_by_text("was put back into the form")).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_value("seen at the provider")
    expect(page.get_by_label("Sure")).to_be_checked()
    expect(page.get_by_label("Password")).to_have_value("")
    assert urls.posts == []


def test_typed_text_is_not_handed_to_another_person(
    visit: Callable[..., Visit], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = typed(visit().goto("/item/ended/"))
    urls.session["alive"] = False
    kim = Account("Kim Berg", "KB", "kim", (), "/sign-out/", None, NOOR.workspaces)
    monkeypatch.setattr(layout, "_account_of", [lambda request: kim if urls.session["alive"] else NOOR])
    page.get_by_role("button", name="Settle").click()
    expect(page.locator(".me-name")).to_have_text("Kim Berg")
    expect(page.get_by_label("Reason")).to_have_value("")


def test_a_form_from_before_another_sign_in_says_reload_and_reloading_keeps_the_text(
    visit: Callable[..., Visit],
) -> None:
    seen = visit()
    page = typed(seen.goto("/item/good/"))
    seen.context.add_cookies([{"name": "csrftoken", "value": "b" * 32, "url": seen.site}])
    page.get_by_role("button", name="Settle").click()
    expect(page.locator("form [role=alert]")).to_contain_text("stale_form")
    assert urls.posts == []
    page.get_by_role("link", name="Reload the page").click()
    expect(page.get_by_text("was put back into the form")).to_be_visible()
    page.get_by_role("button", name="Settle").click()
    expect(page.locator("#done")).to_be_visible()
    assert [post["reason"] for post in urls.posts] == ["seen at the provider"]


def test_a_refresh_replaces_only_what_changed_and_fails_in_silence(visit: Callable[..., Visit]) -> None:
    seen = visit()
    page = seen.goto("/list/")
    shown = page.locator("[data-refreshes] div")

    def refresh() -> None:
        with page.expect_request_finished(lambda request: "/part/" in request.url):
            page.evaluate("htmx.trigger('[data-refreshes]', 'again')")

    refresh()
    expect(shown).to_have_text("3 wait")
    page.evaluate("document.querySelector('[data-refreshes] p').id = 'kept'")
    refresh()
    expect(shown.locator("#kept")).to_have_count(1)
    urls.parts[0] = "<p>4 wait</p>"
    refresh()
    expect(shown).to_have_text("4 wait")
    page.route("**/part/", lambda route: route.abort())
    with page.expect_event("requestfailed"):
        page.evaluate("htmx.trigger('[data-refreshes]', 'again')")
    expect(page.locator("[role=alert]")).to_have_count(0)
    seen.complaints.clear()


# --- foreign text ----------------------------------------------------------------------------------------------------


def test_foreign_text_in_page_and_refusal_never_acts(visit: Callable[..., Visit]) -> None:
    page = visit().goto("/item/refused/")
    page.get_by_role("button", name="Settle").click()
    expect(page.locator("form [role=alert] .codepoint")).to_have_text(["⟦U+202E⟧", "⟦U+200B⟧"])
    expect(page.locator(".quoted .codepoint")).to_have_count(2)
    assert page.locator("[hx-post='/approve/'], img").count() == 0
    assert urls.approved == []


# --- sending ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["plain", "good"])
def test_a_form_pressed_twice_is_sent_once(visit: Callable[..., Visit], way: str) -> None:
    page = typed(visit().goto(f"/item/{way}/"))
    page.evaluate("const b = document.querySelector('form.panel button'); b.click(); b.click()")
    expect(page.locator("#done")).to_be_visible()
    assert len(urls.posts) == 1


def test_ctrl_enter_sends_from_inside_the_form_only(visit: Callable[..., Visit]) -> None:
    page = typed(visit().goto("/item/good/"))
    page.locator("h1").click()
    page.keyboard.press("Control+Enter")
    page.get_by_label("Reason").focus()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#done")).to_be_visible()
    assert len(urls.posts) == 1


# --- keys ------------------------------------------------------------------------------------------------------------


def test_the_overlay_tells_the_keys_of_this_page_and_no_others(visit: Callable[..., Visit]) -> None:
    seen = visit()
    assert advertised(seen.goto("/list/")) == ["j k", "Enter o", "u", "/", "g i", "Esc", "?"]
    assert advertised(seen.goto("/item/good/")) == ["g i", "c", "y", "Ctrl Enter", "Esc", "?"]


def test_every_key_told_on_a_list_works(visit: Callable[..., Visit]) -> None:
    page = visit().goto("/list/")
    rows = page.locator(".waiting-row")
    page.keyboard.press("j")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("o")
    page.wait_for_url("**/item/2/")
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.wait_for_url("**/list/")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).not_to_be_focused()
    page.keyboard.press("u")
    page.wait_for_url("**/home/")


def test_an_items_key_opens_and_a_deciding_button_is_only_focused(visit: Callable[..., Visit]) -> None:
    page = visit().goto("/item/good/")
    page.keyboard.press("y")
    expect(page.get_by_role("button", name="Settle")).to_be_focused()
    page.keyboard.press("c")
    expect(page.locator("#claim-box")).to_be_visible()
    assert urls.posts == []


def test_single_keys_rest_while_typing_under_a_dialog_and_when_switched_off(visit: Callable[..., Visit]) -> None:
    page = visit().goto("/item/good/")
    page.get_by_label("Reason").press_sequentially("c?gi")
    expect(page.get_by_label("Reason")).to_have_value("c?gi")
    expect(page.locator("#claim-box")).to_be_hidden()
    page.locator("h1").click()
    page.keyboard.press("?")
    page.keyboard.press("c")
    expect(page.locator("#claim-box")).to_be_hidden()
    page.keyboard.press("Escape")
    page.locator(".menu.me > summary").click()
    page.locator("[name=single_keys][value=off]").click()
    page.wait_for_function("document.documentElement.dataset.singleKeys === 'off'")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_hidden()
    expect(page.locator(".keys-open")).to_be_hidden()


# --- look ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [320, 1000, 1280])
def test_the_frame_holds_at_every_width_and_in_both_themes(visit: Callable[..., Visit], width: int, dark: bool) -> None:
    page = visit(width=width, dark=dark).goto("/item/refused/")
    page.get_by_role("button", name="Settle").click()
    page.locator("form [role=alert]").wait_for()
    assert not too_wide(page)
    assert axe(page) == []
    page.locator(".menu.me > summary").click()
    assert axe(page) == []


@pytest.mark.parametrize("path", ["/list/", "/nowhere/"])
def test_lists_and_errors_pass_the_accessibility_check(visit: Callable[..., Visit], path: str) -> None:
    page = visit().goto(path)
    assert axe(page) == []
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    assert axe(page) == []


def test_copying_an_id_gives_its_true_characters(visit: Callable[..., Visit]) -> None:
    seen = visit()
    seen.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = seen.goto("/list/")
    page.get_by_role("button", name="Copy run id").click()
    expect(page.locator("#announce")).to_have_text("Copied run id")
    assert page.evaluate("navigator.clipboard.readText()") == "run\u200b-7"


# --- without script --------------------------------------------------------------------------------------------------


def test_without_script_menus_open_forms_send_and_the_theme_changes(visit: Callable[..., Visit]) -> None:
    page = visit(script=False).goto("/item/refused/")
    expect(page.locator(".keys-open")).to_be_hidden()
    page.locator(".menu.me > summary").click()
    page.locator("[name=theme][value=dark]").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_label("Reason").fill("seen at the provider")
    page.get_by_role("button", name="Settle").click()
    expect(page.locator("h1")).to_have_text("Not as things stand")
    expect(page.get_by_label("reason")).to_have_value("seen at the provider")
