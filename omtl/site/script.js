// What makes the pages easier to use. Without it they show the same, but for charts' numbers.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// Colours: as set in the system, or the opposite, or back.
function themes() {
  const button = document.querySelector(".theme");
  const root = document.documentElement;
  const told = { "": "as set in the system", light: "light", dark: "dark" };
  const kept = () => { try { return localStorage.getItem("theme") || ""; } catch { return ""; } };
  const set = (theme) => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    try { localStorage.setItem("theme", theme); } catch { /* a file address may have no storage */ }
    button.setAttribute("aria-label", `Colours: ${told[theme]}`);
    button.textContent = { "": "◐", light: "☀", dark: "☾" }[theme];
  };
  set(kept());
  button.hidden = false;
  button.addEventListener("click", () => {
    const order = matchMedia("(prefers-color-scheme: dark)").matches ? ["", "light", "dark"] : ["", "dark", "light"];
    set(order[(order.indexOf(root.dataset.theme || "") + 1) % 3]);
  });
}

// Readings of a table or figure: one is shown at a time.
function views() {
  const tabs = document.querySelector(".tabs");
  if (!tabs) return;
  tabs.hidden = false;
  document.body.classList.add("has-tabs");
  const show = (name) => {
    for (const view of all(".view")) view.hidden = view.dataset.view !== name;
    for (const button of all("button", tabs)) button.setAttribute("aria-pressed", button.dataset.view === name);
  };
  for (const button of all("button", tabs)) {
    button.addEventListener("click", () => {
      show(button.dataset.view);
      history.replaceState(null, "", `#${button.dataset.view}`);
    });
  }
  const asked = document.getElementById(location.hash.slice(1));
  const view = asked && asked.closest(".view");
  show(view ? view.dataset.view : tabs.querySelector("button").dataset.view);
}

// Cells: the arrow keys go from one to the next; an address may name one that is to be open.
function cells() {
  const open = () => {
    const asked = document.getElementById(location.hash.slice(1));
    if (asked && asked.matches(".sheet:not(:popover-open)")) asked.showPopover();
  };
  open();
  addEventListener("hashchange", open);
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  for (const table of all(".result")) {
    table.addEventListener("keydown", (event) => {
      const cell = event.target.closest(".cell");
      if (!cell || !step[event.key]) return;
      const [down, right] = step[event.key];
      let row = cell.closest("tr");
      let column = [...row.cells].indexOf(cell.closest("td"));
      for (;;) {
        if (down) row = down > 0 ? row.nextElementSibling : row.previousElementSibling;
        column += right;
        if (!row || column < 1 || column > row.cells.length - 1 && right) break;
        const next = row.cells[column] && row.cells[column].querySelector(".cell");
        if (next) { next.focus(); break; }
      }
      event.preventDefault();
    });
  }
  for (const chip of all("button[data-verdict]")) {
    chip.addEventListener("click", () => {
      const view = chip.closest(".view");
      chip.setAttribute("aria-pressed", chip.getAttribute("aria-pressed") !== "true");
      const wanted = all("button[data-verdict][aria-pressed=true]", view).map((one) => one.dataset.verdict);
      for (const cell of all(".cell", view)) {
        cell.classList.toggle("dim", wanted.length > 0 && !wanted.some((verdict) => cell.classList.contains(verdict)));
      }
    });
  }
}

// Tables whose heads sort them.
function sorting() {
  for (const table of all("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => {
          const cell = row.cells[column];
          const text = cell.dataset.sort ?? cell.textContent.trim();
          return head.dataset.kind === "number" || cell.dataset.sort !== undefined
            ? (text === "" ? NaN : parseFloat(text.replace("−", "-").replaceAll(",", ""))) : text.toLowerCase();
        };
        const rows = [...table.tBodies[0].rows].map((row) => [value(row), row]);
        rows.sort(([a], [b]) => {
          if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
          return (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1);
        });
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }
}

// Rows that a form asks for; the address may ask too (?paper=dom).
function filters() {
  for (const form of all("form.filters")) {
    const table = document.getElementById(form.dataset.filters);
    const rows = [...table.tBodies[0].rows];
    const asked = new URLSearchParams(location.search);
    form.hidden = false;
    for (const field of form.elements) if (field.name && asked.has(field.name)) field.value = asked.get(field.name);
    const nothing = document.querySelector(".nothing");
    const show = () => {
      const of = (name) => (form.elements[name] ? form.elements[name].value : "");
      const words = of("text").toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        const outcome = row.dataset[of("reading").replace(/_(.)/g, (_, letter) => letter.toUpperCase())];
        const wanted = (!of("paper") || row.dataset.paper === of("paper"))
          && (!of("outcome") || outcome === of("outcome"))
          && (!row.dataset.reading || !of("reading") || row.dataset.reading === of("reading"))
          && (!of("says") || row.dataset.says === of("says"))
          && (!asked.has("figure") || row.dataset.figure === asked.get("figure"))
          && words.every((word) => text.includes(word));
        row.hidden = !wanted;
        count += wanted;
      }
      if (table.id === "ledger") {
        for (const cell of all("[data-reading]", table)) cell.hidden = cell.dataset.reading !== of("reading");
      }
      form.querySelector(".count").textContent = `${count} of ${rows.length}`;
      if (nothing) nothing.hidden = count > 0;
    };
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    show();
  }
}

function copying() {
  if (!navigator.clipboard) return;
  for (const button of all(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  }
}

// Charts: a cursor that tells the numbers of all lines; names that hide lines.
function charts() {
  for (const chart of all("svg.lines")) {
    const { scale: [low, high, start, end, kind], x: name, lines } = JSON.parse(chart.dataset.numbers);
    const told = (number) => Number(number.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 5 });
    const unit = { linear: Number, log: Math.log10, log1p: Math.log1p }[kind];
    const place = (value) => start + (unit(value) - unit(low)) / (unit(high) - unit(low) || 1) * (end - start);
    const stops = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
    const cursor = chart.querySelector(".cursor");
    const readout = chart.parentElement.querySelector("svg.lines ~ .readout");
    let at = -1;
    const read = (number) => {
      at = Math.max(0, Math.min(stops.length - 1, number));
      const x = stops[at];
      cursor.setAttribute("x1", place(x));
      cursor.setAttribute("x2", place(x));
      cursor.removeAttribute("hidden");
      readout.replaceChildren(`${name} ${told(x)}: `);
      lines.forEach((line, index) => {
        const drawn = chart.querySelector(`[data-line="${index}"]`);
        const where = line.x.indexOf(x);
        if (where < 0 || (drawn && drawn.hasAttribute("hidden"))) return;
        const value = document.createElement("b");
        value.textContent = told(line.y[where]);
        readout.append(lines.length > 1 ? `${line.label} ` : "", value, "  ");
      });
    };
    chart.addEventListener("pointermove", (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
      let nearest = 0;
      stops.forEach((stop, number) => {
        if (Math.abs(place(stop) - point.x) < Math.abs(place(stops[nearest]) - point.x)) nearest = number;
      });
      read(nearest);
    });
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      read(Number.isFinite(step) ? at + step : step > 0 ? stops.length - 1 : 0);
    });
    const panel = chart.closest(".panel");
    for (const button of panel ? all(".key button", panel) : []) {
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", shown);
        chart.querySelector(`[data-line="${button.dataset.line}"]`).toggleAttribute("hidden", !shown);
        if (at >= 0) read(at);
      });
    }
  }
}

for (const part of [themes, views, cells, sorting, filters, copying, charts]) part();
