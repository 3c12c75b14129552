// The theme and the menu on a phone. All pages work without it.
"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // Before anything is drawn: dark or light, where the reader has chosen; otherwise by the system.
  let chosen = null;
  try {
    chosen = localStorage.getItem("sager-theme");
  } catch {
    // Storage is closed to us: the system decides.
  }
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
  root.classList.add("js");

  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);

  document.addEventListener("click", (event) => {
    const target = event.target.closest("button");
    if (!target) return;
    if ("themeToggle" in target.dataset) {
      root.dataset.theme = isDark() ? "light" : "dark";
      try {
        localStorage.setItem("sager-theme", root.dataset.theme);
      } catch {
        // It holds for this page then.
      }
    } else if (target.classList.contains("menu")) {
      const open = target.getAttribute("aria-expanded") === "true";
      target.setAttribute("aria-expanded", String(!open));
    }
  });

  document.addEventListener("keydown", (event) => {
    const menu = document.querySelector("button.menu[aria-expanded=true]");
    if (event.key === "Escape" && menu) {
      menu.setAttribute("aria-expanded", "false");
      menu.focus();
    }
  });

  // What replaces the page's middle is read from its beginning, as a page is.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target?.id === "main" || event.detail.elt?.id === "main") {
      document.getElementById("main")?.focus({ preventScroll: true });
      document.querySelector("button.menu")?.setAttribute("aria-expanded", "false");
    }
  });
})();
