/* The inbox with script: the chosen row is marked, a narrow screen shows its case, and a list that cannot be refreshed says so. */
"use strict";

(() => {
  const desk = document.getElementById("desk");
  if (!desk) return;
  const caseOf = (event) => event.detail.target?.id === "desk-case";

  document.addEventListener("htmx:afterSwap", (event) => {
    if (!caseOf(event) || event.detail.xhr.status >= 400) return;
    const link = event.detail.requestConfig?.elt;
    for (const row of desk.querySelectorAll(".queue-link[aria-current]")) row.removeAttribute("aria-current");
    link?.setAttribute("aria-current", "true");
    desk.dataset.showing = "case";
    event.detail.target.scrollTop = 0;
  });

  const news = () => document.querySelector("[data-inbox-news]");
  let unreachable = false;
  const show = (event) => {
    if (event.detail.elt !== news() || unreachable) return;
    unreachable = true;
    news().replaceChildren(document.getElementById("inbox-unreachable").content.cloneNode(true));
  };
  document.addEventListener("htmx:sendError", show);
  document.addEventListener("htmx:timeout", show);
  document.addEventListener("htmx:responseError", show);
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.elt === news() && event.detail.successful && unreachable) {
      unreachable = false;
      news().querySelector('[data-tone="warn"]')?.remove();
    }
  });
})();
