// The query box and what asks for itself. All pages work without it.
"use strict";
(() => {
  const box = () => document.getElementById("query");

  document.addEventListener("click", (event) => {
    const name = event.target.closest("[data-insert]");
    if (!name || !box()) return;
    box().value = name.dataset.insert;
    box().focus();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target === box()) {
      event.preventDefault();
      document.getElementById("run").click();
    }
  });

  // A file is no page: its form is sent as without scripts.
  document.addEventListener("submit", (event) => {
    if (event.submitter && "plain" in event.submitter.dataset) event.stopImmediatePropagation();
  }, true);

  // One tick for all in the table.
  const ready = () => {
    for (const all of document.querySelectorAll("[data-all]")) {
      all.hidden = false;
      all.onchange = () => {
        for (const each of document.querySelectorAll(`input[name^="${all.dataset.all}"]`)) each.checked = all.checked;
      };
    }
  };
  document.addEventListener("htmx:afterSettle", ready);
  ready();

  // What asks by itself does not, where nobody sees it; and tables that were opened stay open.
  let open = [];
  document.addEventListener("htmx:beforeRequest", (event) => {
    const itself = event.detail.requestConfig.headers["X-Sager-By-Itself"];
    if (itself && document.hidden) event.preventDefault();
  });
  document.addEventListener("htmx:beforeSwap", () => {
    open = [...document.querySelectorAll("details[id][open]")].map((each) => each.id);
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  });
})();
