// Before anything is drawn: dark or light, where somebody has chosen; otherwise what the system says.
"use strict";
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("sager-theme");
  } catch {
    // Storage is closed to us: the system's choice it is.
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  document.documentElement.classList.add("js");
})();
