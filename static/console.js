/* Salvor Admin: what script adds to pages that work without it.
   Copy buttons, keys, local times, drafts that outlive a session, and visible answers to failed fragments. */
"use strict";

(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const visible = (element) => element.getClientRects().length > 0;
  const announce = (words) => { document.getElementById("announce").textContent = words; };

  /* ── Copy: the true characters, chips left out ── */

  const trueText = (element) => {
    if (element.dataset.copy !== undefined) return element.dataset.copy;
    const copy = element.cloneNode(true);
    for (const chip of all(".codepoint", copy)) {
      const points = chip.textContent.match(/U\+([0-9A-F]+)/);
      chip.replaceWith(points ? String.fromCodePoint(parseInt(points[1], 16)) : "");
    }
    return copy.textContent;
  };

  const addCopyButtons = (within) => {
    if (!navigator.clipboard) return;
    for (const element of all(".ident, [data-copy]", within)) {
      if (element.dataset.copied !== undefined || element.closest("a, button, summary")) continue;
      element.dataset.copied = "";
      const label = element.dataset.copyLabel || "";
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.append("Copy");
      const rest = document.createElement("span");
      rest.className = "unseen";
      rest.append(` ${label}`);
      button.append(rest);
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(trueText(element));
          announce(`Copied ${label}`);
        } catch {
          getSelection().selectAllChildren(element);
          announce("Not copied. It is selected: copy it by hand.");
        }
      });
      element.after(" ", button);
    }
  };

  /* ── Times: the reader's own zone beside the written one ── */

  const localZone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const addLocalTimes = (within) => {
    for (const element of all("time[datetime][title]", within)) {
      const at = new Date(element.dateTime);
      if (element.dataset.local !== undefined || Number.isNaN(at.getTime())) continue;
      element.dataset.local = "";
      const zone = localZone.resolvedOptions().timeZone;
      if (zone !== "UTC") element.title += ` (${localZone.format(at)}, ${zone})`;
    }
  };

  /* ── Drafts: what was typed survives a session that ended and a page that was reloaded ── */

  const person = root.dataset.person || "";
  const draftKey = "salvor-draft";
  const secret = /csrfmiddlewaretoken|pass|token|secret|otp/i;
  const keepable = (field) =>
    field.name && !secret.test(field.name) && !["password", "hidden", "file", "submit", "button"].includes(field.type) &&
    !field.readOnly && !field.disabled;

  const formPlace = (form) => all('form[method="post"]').indexOf(form);
  const isOn = (field) => (["checkbox", "radio"].includes(field.type) ? field.checked : undefined);

  const keepDrafts = () => {
    if (!person) return;
    const fields = [];
    for (const form of all('form[method="post"]')) {
      for (const field of [...form.elements].filter(keepable)) {
        if (field.type === "select-multiple") continue;
        fields.push({ form: formPlace(form), name: field.name, value: field.value, on: isOn(field) });
      }
    }
    if (fields.length) {
      sessionStorage.setItem(draftKey, JSON.stringify({ person, path: location.pathname, fields }));
    }
  };

  const restoreDrafts = () => {
    const kept = sessionStorage.getItem(draftKey);
    if (!kept || !person) return;
    const draft = JSON.parse(kept);
    // Whoever else signed in at this window must not find another's words; a detour leaves them for later.
    if (draft.person !== person) { sessionStorage.removeItem(draftKey); return; }
    if (draft.path !== location.pathname) return;
    sessionStorage.removeItem(draftKey);
    const forms = all('form[method="post"]');
    let restored = false;
    for (const { form, name, value, on } of draft.fields) {
      const fields = [...(forms[form]?.elements ?? [])].filter((field) => field.name === name && keepable(field));
      const field = on === undefined ? fields[0] : fields.find((each) => each.value === value);
      if (!field) continue;
      if (on === undefined ? field.value !== value : field.checked !== on) {
        restored = true;
        if (on === undefined) field.value = value;
        else field.checked = on;
        field.dispatchEvent(new Event("change", { bubbles: true }));
      }
    }
    if (restored) showNotice("notice-restored");
  };

  /* ── Notices: put where the act was, and brought into sight ── */

  const noticePlace = (element) => element?.closest?.("form, .panel")?.querySelector("[data-notices]") ||
    document.getElementById("notices");

  const reveal = (place) => {
    const notice = place.querySelector('[role="alert"]');
    if (!notice) return;
    notice.focus({ preventScroll: true });
    notice.scrollIntoView({ block: "nearest" });
  };

  const showNotice = (id, element) => {
    const place = noticePlace(element);
    place.replaceChildren(document.getElementById(id).content.cloneNode(true));
    reveal(place);
  };

  /* ── htmx: every failed answer is seen, none is swapped where it was not meant ── */

  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (event.detail.xhr.status === 401) keepDrafts();
  });

  const lastShown = new WeakMap();
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, requestConfig } = event.detail;
    const html = (xhr.getResponseHeader("Content-Type") || "").startsWith("text/html");
    const meant = xhr.status < 400 || xhr.getResponseHeader("HX-Retarget") !== null;
    if (event.detail.shouldSwap && xhr.responseText && !(html && meant)) {
      event.detail.shouldSwap = false;
      showNotice("notice-unreadable", requestConfig?.elt);
      return;
    }
    // A refresh that brings nothing new must not take the focus or the place in the list.
    const refreshed = requestConfig?.elt?.closest?.("[data-refreshes]");
    if (refreshed && xhr.status < 400) {
      if (lastShown.get(refreshed) === xhr.responseText) event.detail.shouldSwap = false;
      lastShown.set(refreshed, xhr.responseText);
    }
    if (xhr.status >= 400 && event.detail.target?.id === "notices") {
      event.detail.target = noticePlace(requestConfig?.elt);
    }
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.xhr?.status >= 400) reveal(event.detail.target);
  });

  for (const failure of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, (event) => {
      // A refresh that nobody asked for fails in silence: the page says as of when it is.
      const quiet = event.detail.elt?.closest?.("[data-refreshes]");
      if (!quiet) showNotice("notice-unreachable", event.detail.elt);
    });
  }

  /* ── Forms: sent once ── */

  const sent = new WeakSet();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (sent.has(form)) { event.preventDefault(); event.stopImmediatePropagation(); return; }
    sent.add(form);
    form.setAttribute("aria-busy", "true");
  }, true);
  const release = (form) => { sent.delete(form); form.removeAttribute("aria-busy"); };
  document.addEventListener("htmx:afterRequest", (event) => {
    const form = event.detail.elt?.closest?.("form");
    if (form) release(form);
  });
  window.addEventListener("pageshow", () => all("form[aria-busy]").forEach(release));

  document.addEventListener("click", (event) => {
    const reload = event.target.closest?.("[data-reload]");
    if (!reload) return;
    event.preventDefault();
    keepDrafts();
    location.reload();
  });

  /* ── Keys. Scoped: typing, dialogs and the switch silence them. No single key decides. ── */

  const rowSelector = "[data-row], .queue-link, .waiting-row";
  const rows = () => all(rowSelector).filter(visible);
  const pageKeys = () => all("[data-key]").filter(visible);
  const decides = (element) => element.matches(".primary, .danger") && element.closest("form[method='post']") !== null;

  const move = (step) => {
    const list = rows();
    if (!list.length) return false;
    let at = list.indexOf(document.activeElement);
    if (at < 0) at = list.findIndex((row) => row.hasAttribute("aria-current"));
    if (at < 0 && step < 0) at = list.length;
    const next = list[Math.min(Math.max(at + step, 0), list.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
    return true;
  };

  const filterField = () => all("[data-filter], form.filters :is(input, select), input[type=search]").find(visible);
  const parentLink = () => document.querySelector("[data-up]") || all(".trail a").at(-1);

  const actions = {
    "j": { available: () => rows().length > 0, act: () => move(1) },
    "k": { available: () => rows().length > 0, act: () => move(-1) },
    "o": {
      available: () => rows().length > 0,
      act: () => { if (document.activeElement.matches(rowSelector)) document.activeElement.click(); },
    },
    "u": { available: () => Boolean(parentLink()), act: () => parentLink().click() },
    "/": { available: () => Boolean(filterField()), act: () => filterField().focus() },
    "?": { available: () => Boolean(document.getElementById("keys")), act: () => openKeys() },
  };

  const openKeys = () => document.getElementById("keys").togglePopover();

  const sendButton = (form) => {
    const buttons = all("button[type=submit], button:not([type])", form).filter((each) => visible(each) && !each.disabled);
    return buttons.find((each) => each.matches(".primary, .danger")) || (buttons.length === 1 ? buttons[0] : undefined);
  };

  const available = (name) => {
    if (name === "send") return all('form[method="post"]').some((form) => form.closest("main") && sendButton(form));
    if (name === "Escape") return true;
    if (name.startsWith("g ")) return Boolean(document.querySelector(`[data-go="${CSS.escape(name.slice(2))}"]`));
    return Boolean(actions[name]?.available());
  };

  const drawKeys = () => {
    const overlay = document.getElementById("keys");
    for (const row of all("[data-key-row]", overlay)) row.hidden = !available(row.dataset.keyRow);
    const list = overlay.querySelector("[data-key-list]");
    list.replaceChildren(...pageKeys().map((element) => {
      const row = document.createElement("div");
      const name = document.createElement("dt");
      const key = document.createElement("kbd");
      const words = document.createElement("dd");
      key.append(element.dataset.key);
      name.append(key);
      words.append(element.dataset.keyLabel || element.textContent.trim());
      row.append(name, words);
      return row;
    }));
    for (const section of all(".keys-sets section", overlay)) {
      section.hidden = !all("dl > div", section).some((row) => !row.hidden);
    }
  };

  const typing = (element) =>
    element.isContentEditable ||
    (element.matches("input, textarea, select") && !element.matches("[type=checkbox], [type=radio], [type=submit], [type=button]"));

  const layerOpen = () => document.querySelector("dialog[open], [popover]:popover-open:not(.shell-nav)") !== null ||
    document.querySelector(".shell-nav:popover-open") !== null;

  let going = 0;

  const singleKey = (event) => {
    if (going && Date.now() - going < 1500) {
      going = 0;
      const place = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (place) { place.click(); return true; }
    }
    going = 0;
    if (event.key === "g" && document.querySelector("[data-go]")) { going = Date.now(); return true; }
    const own = pageKeys().find((element) => element.dataset.key === event.key);
    if (own) {
      // A button that decides is only brought under the finger.
      if (decides(own)) own.focus();
      else if (own.matches("input:not([type=checkbox], [type=radio]), textarea, select")) own.focus();
      else own.click();
      return true;
    }
    const action = actions[event.key];
    if (!action?.available()) return false;
    action.act();
    return true;
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const target = event.target instanceof Element ? event.target : root;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      const form = target.closest('form[method="post"]');
      const button = form && sendButton(form);
      if (button) { event.preventDefault(); form.requestSubmit(button); }
      return;
    }
    if (event.key === "Escape") {
      const menu = target.closest("details.menu[open]") || document.querySelector("details.menu[open]");
      if (menu && !layerOpen()) { menu.open = false; menu.querySelector("summary").focus(); }
      else if (typing(target) && !layerOpen()) target.blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(target) || root.dataset.singleKeys === "off") return;
    if (layerOpen() && !(event.key === "?" && document.getElementById("keys")?.matches(":popover-open"))) return;
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && target.matches(rowSelector)) {
      if (move(event.key === "ArrowDown" ? 1 : -1)) event.preventDefault();
      return;
    }
    if (event.key.length === 1 && singleKey(event)) event.preventDefault();
  });

  /* ── Menus close when one clicks elsewhere ── */

  document.addEventListener("click", (event) => {
    for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });

  /* ── Start, and again for every fragment ── */

  const enhance = (within) => {
    addCopyButtons(within);
    addLocalTimes(within);
  };
  document.addEventListener("htmx:load", (event) => {
    if (event.detail.elt !== document.body) enhance(event.detail.elt.parentElement || document);
  });
  document.getElementById("keys")?.addEventListener("beforetoggle", (event) => {
    if (event.newState === "open") drawKeys();
  });
  for (const element of all("[data-needs-script]")) {
    element.hidden = element.classList.contains("keys-open") && root.dataset.singleKeys === "off";
  }
  enhance(document);
  restoreDrafts();
  document.querySelector("[data-focus]")?.focus();
})();
