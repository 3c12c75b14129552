// Charts, the theme's button and the menu on a phone. All pages work without it.
"use strict";
(() => {
  const root = document.documentElement;
  const source = document.currentScript.dataset.charts;
  const charts = new Map();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let loading = null;
  let printing = false;

  // The library is a megabyte: only pages with a chart load it.
  const library = () => {
    loading ??= new Promise((loaded, failed) => {
      const script = document.createElement("script");
      script.src = source;
      script.onload = loaded;
      script.onerror = failed;
      document.head.append(script);
    });
    return loading;
  };

  const colour = (name) => {
    const probe = document.createElement("span");
    probe.className = `probe probe-${name}`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };

  const theme = () => {
    const text = colour("text");
    const muted = colour("muted");
    const line = colour("line");
    const axis = {
      axisLine: { lineStyle: { color: line } },
      axisTick: { lineStyle: { color: line } },
      axisLabel: { color: muted },
      nameTextStyle: { color: muted },
      splitLine: { lineStyle: { color: line } },
    };
    return {
      color: [1, 2, 3, 4, 5, 6].map((number) => colour(`chart-${number}`)),
      backgroundColor: "transparent",
      textStyle: { color: text, fontFamily: getComputedStyle(document.body).fontFamily },
      legend: { textStyle: { color: muted }, inactiveColor: line },
      categoryAxis: { ...axis, splitLine: { show: false } },
      valueAxis: axis,
      timeAxis: { ...axis, splitLine: { show: false } },
      logAxis: axis,
      line: { symbolSize: 6, lineStyle: { width: 2 } },
      sankey: { label: { color: text } },
      tooltip: {
        backgroundColor: colour("surface"),
        borderColor: line,
        textStyle: { color: text },
      },
    };
  };

  const draw = (place) => {
    charts.get(place)?.dispose();
    // Colours are named: which they are depends on the theme.
    const named = (key, value) =>
      key === "color" && /^(chart-[1-6]|muted)$/.test(value) ? colour(value) : value;
    const option = JSON.parse(place.dataset.chart, named);
    const made = echarts.init(place, theme(), { renderer: "canvas" });
    // A tooltip of HTML would bring styles of its own, which the page's policy forbids.
    option.tooltip = { confine: true, ...option.tooltip, renderMode: "richText" };
    option.animation = false;
    made.setOption(option);
    charts.set(place, made);
  };

  const drawAll = async () => {
    for (const [place, made] of charts) {
      if (!place.isConnected) {
        made.dispose();
        charts.delete(place);
      }
    }
    const places = [...document.querySelectorAll("[data-chart]")];
    if (!places.length) return;
    await library();
    for (const place of places) if (place.isConnected) draw(place);
    root.dataset.drawn = "yes";
  };

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
      drawAll();
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
    drawAll();
    if (event.detail.target?.id === "main" || event.detail.elt?.id === "main") {
      document.getElementById("main")?.focus({ preventScroll: true });
      document.querySelector("button.menu")?.setAttribute("aria-expanded", "false");
    }
  });

  const paper = (now) => {
    printing = now;
    for (const made of charts.values()) made.resize();
  };
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
  addEventListener("resize", () => {
    if (!printing) for (const made of charts.values()) made.resize();
  });
  dark.addEventListener("change", drawAll);
  still.addEventListener("change", drawAll);
  drawAll();
})();
