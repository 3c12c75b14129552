// Charts, the query box, the theme's button and the menu on a phone. All pages work without it.
//
// A chart is drawn from the table in the element that data-table names. data-chart has:
//   kind: line, bar, scatter, boxplot, sankey, or auto, which chooses by the columns' contents
//   x, y, by: the columns along the axis, of the values, and of names that make a series each
//   bands: columns of intervals such as "0.1 to 0.2", by the column of values that they surround
//   steps, levels: a column of names that is drawn below as steps, and these names in their order
//   most, reverse, sort: the first rows only; the last one first; along the axis in order
//   days: fill gaps between dates that are so many days apart
//   stack, percent, free (the axis need not begin at zero), dashed, tall, unit, along, tiers (the columns' colours)
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

  const tiers = { high: "chart-1", medium: "chart-5", low: "chart-3", silent: "muted", new: "chart-2", gone: "chart-4" };

  const read = (place) => {
    const table = document.getElementById(place.dataset.table).querySelector("table");
    const headings = [...table.tHead.rows[0].cells];
    return {
      names: headings.map((each) => each.textContent),
      numeric: headings.map((each) => each.classList.contains("num")),
      rows: [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)),
    };
  };

  const number = (text) => {
    const found = parseFloat(text.replace(/[$,]/g, ""));
    return Number.isFinite(found) ? found : null;
  };
  const range = (text) => (text.includes(" to ") ? text.split(" to ").map(number) : [null, null]);
  const distinct = (rows, at) => new Set(rows.map((row) => row[at]));

  const everyDay = (found, days) => {
    const last = Date.parse(found.at(-1));
    const filled = [];
    for (let at = Date.parse(found[0]); at <= last; at += days * 86_400_000) filled.push(new Date(at).toISOString().slice(0, 10));
    return filled;
  };

  // A line along a date or a number that counts up, bars over names, points for two numbers.
  const choose = ({ names, numeric, rows }) => {
    const numbers = names.map((_, at) => at).filter((at) => numeric[at]);
    const texts = names.map((_, at) => at).filter((at) => !numeric[at]);
    const dates = texts.filter((at) => rows.every((row) => /^(\d{4}-\d\d-\d\d|$)/.test(row[at])));
    const by = texts.find((at) => !dates.includes(at) && distinct(rows, at).size > 1 && distinct(rows, at).size <= 12);
    const key = (row) => `${row[numbers[0]]} ${row[by]}`;
    const countsUp =
      numbers.length > 1 && new Set(rows.map(key)).size === rows.length && distinct(rows, numbers[0]).size > 2 &&
      rows.every((row) => /^\d+$/.test(row[numbers[0]]));
    let [kind, x] = dates.length ? ["line", dates[0]] : countsUp ? ["line", numbers[0]] : texts.length ? ["bar", texts[0]] : ["scatter", numbers[0]];
    const measures = numbers.filter((at) => at !== x);
    if (rows.length < 2 || !measures.length) return null;
    const shares = measures.filter((at) => rows.every((row) => number(row[at]) >= 0 && number(row[at]) <= 1));
    const y = kind === "scatter" ? measures.slice(0, 1) : (shares.length ? shares : measures).slice(0, 4);
    const caption = `${y.map((at) => names[at]).join(", ")} along ${names[x]}`;
    if (kind === "line" && by !== undefined) return { kind, x, y: y.slice(0, 1), by, sort: true, free: true, caption: `${names[y[0]]} along ${names[x]}, a line for each ${names[by]}` };
    return { kind, x, y, sort: kind === "line", free: kind === "line", most: kind === "bar" ? 60 : 1_000, caption };
  };

  const frame = { left: 4, right: 20, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all" };

  const sankey = (spec, rows) => {
    const node = (name, side) => ({
      name: `${side === "left" ? "was" : "is"} ${name}`,
      label: { position: side },
      itemStyle: { color: colour(tiers[name] ?? "chart-6") },
    });
    const ends = (at, side) => [...distinct(rows, at)].map((name) => node(name, side));
    const links = rows.map((row) => ({ source: `was ${row[spec.x]}`, target: `is ${row[spec.by]}`, value: number(row[spec.y[0]]) }));
    const shape = { left: 84, right: 84, top: 8, bottom: 8, nodeAlign: "justify", layoutIterations: 0, nodeGap: 14 };
    const look = { emphasis: { focus: "adjacency" }, lineStyle: { color: "gradient", opacity: 0.35 } };
    return { tooltip: { trigger: "item" }, series: [{ type: "sankey", data: [...ends(spec.x, "left"), ...ends(spec.by, "right")], links, ...shape, ...look }] };
  };

  const boxes = (spec, names, rows) => {
    const [y] = spec.y;
    const data = rows.map((row) => {
      const [low, high] = range(row[spec.bands[y]]);
      return [low, low, number(row[y]), high, high];
    });
    return {
      grid: { ...frame, top: 28 },
      tooltip: { trigger: "item" },
      xAxis: { type: "category", data: rows.map((row) => row[spec.x]) },
      yAxis: { type: "value", name: names[y], min: 0 },
      series: [{ type: "boxplot", name: names[y], data, boxWidth: [14, 60], itemStyle: { borderWidth: 2 } }],
    };
  };

  // The interval around a line: its lower bound, and the filled rest above it.
  const band = (name, ranges) => {
    const kind = { type: "line", name, stack: `interval of ${name}`, stackStrategy: "all", symbol: "none", silent: true, lineStyle: { opacity: 0 }, tooltip: { show: false } };
    return [
      { ...kind, data: ranges.map(([low]) => low), areaStyle: { opacity: 0 } },
      { ...kind, data: ranges.map(([low, high]) => (low === null ? null : high - low)), areaStyle: { opacity: 0.15 } },
    ];
  };

  const made = (place) => {
    const table = read(place);
    const given = JSON.parse(place.dataset.chart);
    const spec = given.kind === "auto" ? choose(table) : given;
    if (!spec) return null;
    const { names } = table;
    const rows = spec.most ? table.rows.slice(0, spec.most) : table.rows;
    if (spec.reverse) rows.reverse();
    if (spec.kind === "sankey") return sankey(spec, rows);
    if (spec.kind === "boxplot") return boxes(spec, names, rows);
    const inOrder = (one, other) => (isNaN(one) || isNaN(other) ? (one < other ? -1 : 1) : one - other);
    if (spec.sort) rows.sort((one, other) => inOrder(one[spec.x], other[spec.x]));
    const pivoted = spec.by !== undefined;
    let along = pivoted ? [...distinct(rows, spec.x)] : rows.map((row) => row[spec.x]);
    if (spec.days) along = everyDay(along.sort(), spec.days);
    const series = [];
    for (const group of pivoted ? distinct(rows, spec.by) : [null]) {
      const own = rows.filter((row) => !pivoted || row[spec.by] === group);
      const at = (key, value) => (pivoted ? along.map((each) => value(own.filter((row) => row[key] === each))) : own.map((row) => value([row])));
      for (const y of spec.y) {
        const name = group ?? names[y];
        const sum = (found) => {
          const known = found.map((row) => number(row[y])).filter((value) => value !== null);
          return known.length ? known.reduce((one, other) => one + other, 0) : null;
        };
        const data = spec.kind === "scatter" ? own.map((row) => [number(row[spec.x]), number(row[y])]) : at(spec.x, sum);
        const look = { name, type: spec.kind, data, ...(spec.stack ? { stack: "all" } : {}) };
        if (spec.kind === "line") Object.assign(look, { showSymbol: along.length < 30, symbolSize: 6 });
        if (spec.kind === "bar") look.barMaxWidth = 26;
        if (spec.dashed?.includes(y)) look.lineStyle = { type: "dashed" };
        if (spec.tiers) look.itemStyle = { color: colour(tiers[names[y]]) };
        series.push(look);
        const around = spec.bands?.[y];
        if (around !== undefined) series.push(...band(name, at(spec.x, (found) => (found.length ? range(found[0][around]) : [null, null]))));
      }
    }
    const option = {
      caption: spec.caption,
      grid: { ...frame, top: series.length > 1 ? 44 : 28 },
      legend: { type: "scroll", top: 0, left: 0, itemGap: 16, show: series.length > 1 },
      tooltip: { trigger: spec.kind === "scatter" ? "item" : "axis" },
      series,
    };
    const middle = { nameLocation: "middle", nameGap: 28 };
    if (spec.kind === "scatter") {
      option.xAxis = { type: "value", name: names[spec.x], scale: true, ...middle };
      option.yAxis = { type: "value", name: names[spec.y[0]], scale: true };
      return option;
    }
    const lying = spec.kind === "bar" && !spec.days && (along.length > 16 || along.some((name) => name.length > 12));
    const category = { type: "category", data: along, boundaryGap: spec.kind === "bar" };
    if (lying) Object.assign(category, { inverse: true, axisLabel: { width: 170, overflow: "truncate" } });
    if (spec.along) Object.assign(category, { name: spec.along, ...middle });
    const value = { type: "value", name: lying ? "" : spec.unit ?? "", ...(spec.free ? { scale: true } : { min: 0 }) };
    if (spec.percent) Object.assign(value, { max: 100, axisLabel: { formatter: "{value} %", hideOverlap: true } });
    option.xAxis = lying ? value : category;
    option.yAxis = lying ? category : value;
    if (spec.levels) {
      const side = { left: 44, right: 12 };
      option.grid = [{ ...side, top: 34, height: "46%" }, { ...side, bottom: 26, height: "18%" }];
      option.axisPointer = { link: [{ xAxisIndex: "all" }] };
      option.xAxis = [{ ...category, axisLabel: { show: false } }, { ...category, gridIndex: 1 }];
      option.yAxis = [{ ...value, splitNumber: 3 }, { type: "value", min: 0, max: 3, interval: 1, gridIndex: 1, axisLabel: { show: false } }];
      const levels = rows.map((row) => spec.levels.indexOf(row[spec.steps]));
      series.push({ type: "line", name: `${names[spec.steps].toLowerCase()} (0 to 3)`, step: "end", data: levels, xAxisIndex: 1, yAxisIndex: 1, areaStyle: { opacity: 0.25 }, showSymbol: rows.length === 1 });
    }
    return option;
  };

  const draw = (place) => {
    charts.get(place)?.dispose();
    const option = made(place);
    const section = place.closest("section");
    if (!option) {
      section.remove();
      return;
    }
    if (option.caption) document.getElementById("chart-caption").textContent = option.caption;
    delete option.caption;
    section.hidden = false;
    const drawn = echarts.init(place, theme(), { renderer: "canvas" });
    // A tooltip of HTML would bring styles of its own, which the page's policy forbids.
    option.tooltip = { confine: true, ...option.tooltip, renderMode: "richText" };
    option.animation = false;
    drawn.setOption(option);
    charts.set(place, drawn);
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

  const box = () => document.getElementById("query");

  document.addEventListener("click", (event) => {
    const name = event.target.closest("[data-insert]");
    if (!name || !box()) return;
    box().value = name.dataset.insert;
    box().focus();
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

  // A hidden page does not ask by itself.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const itself = event.detail.requestConfig.headers["X-Sager-By-Itself"];
    if (itself && document.hidden) event.preventDefault();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target === box()) {
      event.preventDefault();
      document.getElementById("run").click();
    }
    const menu = document.querySelector("button.menu[aria-expanded=true]");
    if (event.key === "Escape" && menu) {
      menu.setAttribute("aria-expanded", "false");
      menu.focus();
    }
  });

  // What replaces the page's middle is read from its beginning, as a page is.
  document.addEventListener("htmx:afterSettle", (event) => {
    drawAll();
    ready();
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
  ready();
})();
