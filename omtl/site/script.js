// What the pages do: they show all numbers without it, and with it what each is made of.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const spaced = (name) => name.replaceAll("_", " ");
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
const addressed = () => document.getElementById(location.hash.slice(1));
const address = (text) => history.replaceState(null, "", text);

// Press or release a button; return whether it is pressed now.
function toggle(button) {
  const pressed = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", pressed);
  return pressed;
}

// Data beside the pages: each file `data/<name>.js` calls `data` with its JSON, once it is asked for.
const waiting = new Map();
const data = (name, content) => waiting.get(name).resolve(content);
function load(name) {
  if (!waiting.has(name)) {
    const one = Promise.withResolvers();
    waiting.set(name, one);
    const script = html("script", { src: `data/${name}.js` });
    script.addEventListener("error", () => one.reject(new Error(`data/${name}.js cannot be read`)));
    document.head.append(script);
  }
  return waiting.get(name).promise;
}

// Colours: as set in the system, or the opposite, or back.
function themes() {
  const button = document.querySelector(".theme");
  const root = document.documentElement;
  const told = { "": ["◐", "as set in the system"], light: ["☀", "light"], dark: ["☾", "dark"] };
  const set = (theme) => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    try { localStorage.setItem("theme", theme); } catch { /* a file address may have no storage */ }
    button.textContent = told[theme][0];
    button.setAttribute("aria-label", `Colours: ${told[theme][1]}`);
  };
  let kept = null;
  try { kept = localStorage.getItem("theme"); } catch { /* nor here */ }
  set(kept || "");
  button.hidden = false;
  button.addEventListener("click", () => {
    const order = matchMedia("(prefers-color-scheme: dark)").matches ? ["", "light", "dark"] : ["", "dark", "light"];
    set(order[(order.indexOf(root.dataset.theme || "") + 1) % 3]);
  });
}

// Backquoted parts of a text as code.
const coded = (text) => text.split("`").map((part, number) => (number % 2 ? html("code", {}, part) : part));

// A command with a button that copies it.
function command(words) {
  const parts = words.split(" ").flatMap((word) => [html("span", {}, word), " "]);
  return html("div", { class: "command" }, html("code", {}, ...parts.slice(0, -1)), html("button", { type: "button", class: "copy" }, "copy"));
}
document.addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (!button || !navigator.clipboard) return;
  await navigator.clipboard.writeText(button.previousElementSibling.textContent);
  button.textContent = "copied";
  setTimeout(() => { button.textContent = "copy"; }, 1500);
});

// Open a sheet over the page; `closed` is called when it is closed.
function openSheet(title, parts, closed = () => {}) {
  const close = html("button", { type: "button", class: "close", autofocus: true, "aria-label": "Close" }, "✕");
  const heading = html("h3", { id: "sheet-title" }, ...title);
  const sheet = html("dialog", { class: "sheet", "aria-labelledby": "sheet-title" }, html("div", { class: "sheet-head" }, heading, close), ...parts);
  close.addEventListener("click", () => sheet.close());
  sheet.addEventListener("click", (event) => { if (event.target === sheet) sheet.close(); });
  sheet.addEventListener("close", () => { sheet.remove(); closed(); });
  document.body.append(sheet);
  sheet.showModal();
}

// What is known about a cell, from top to bottom.
function detailsOf(cell, id) {
  const pair = (name, text) => {
    const [mean, spread] = text.split(" ± ");
    return html("div", {}, html("dt", {}, name), html("dd", {}, mean, spread && html("i", {}, ` ± ${spread}`)));
  };
  const chip = html("span", { class: `chip ${cell.verdict}` }, html("span", { "aria-hidden": "true" }, cell.mark), ` ${cell.verdict}`);
  const parts = [
    html("dl", { class: "versus" },
      pair("ours", cell.shown_ours),
      cell.printed && pair("published", cell.printed),
      cell.verdict && html("div", {}, html("dt", {}, "verdict"), html("dd", {}, chip))),
    html("p", { class: "diagnosis" }, ...coded(`${cell.why[0].toUpperCase()}${cell.why.slice(1)}.`.replace(/\.\.$/, "."))),
    cell.suspect && html("p", {}, html("a", { href: "proofread.html" }, "Suspect in print"), `: ${cell.suspect}.`),
  ];
  if (cell.repeats) {
    const told = [`ours ${cell.shown_ours}`, cell.printed && `published ${cell.printed}`, cell.verdict].filter(Boolean);
    parts.push(html("h4", {}, `Over ${cell.n_repeats} repeats`), numberLine(cell, `${cell.place}: ${told.join(", ")}`));
  }
  if (cell.curve) {
    const { label, x, y } = cell.curve;
    const told = `${label}: from ${shown(y[0])}% after ${x[0]} examples to ${shown(y.at(-1))}% after ${x.at(-1)}`;
    const { chart, readout } = lineChart({ lines: [cell.curve], x: "examples", y: "error rate (%)", label: told, width: 560 });
    parts.push(html("h4", {}, "Learning curve ", html("small", {}, `mean ${cell.curve.std ? "and standard deviation" : "over the repeats"}, all tasks together`)), chart, readout);
  }
  if (cell.parameters) {
    const rows = cell.parameters.map(([name, value, grid]) => {
      const atEdge = grid.length > 2 && [grid[0], grid.at(-1)].includes(value);
      const values = grid.flatMap((one) => [html("code", { class: one === value && "chosen" }, one), " "]);
      return html("tr", {}, html("th", { scope: "row" }, html("code", {}, name)),
        html("td", {}, html("code", {}, value), atEdge && html("span", { class: "edge", title: "the chosen value is the first or last of the grid" }, " at the grid's edge")),
        html("td", { class: "grid" }, ...(grid.length ? values : [html("span", { class: "muted" }, "fixed")])));
    });
    const heads = ["name", "chosen", "from"].map((name) => html("th", { scope: "col" }, name));
    const table = html("table", { class: "small parameters" }, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows));
    parts.push(html("h4", {}, "Hyper-parameters ", html("small", {}, `rule: ${spaced(cell.selection)}`)), table);
  }
  const links = [
    cell.learner && html("a", { href: `learner-${cell.learner}.html` }, "the learner"),
    cell.data && html("a", { href: `data-${cell.data}.html` }, "the data"),
    id && html("a", { href: `#${id}` }, "link to this cell"),
    cell.hash && html("span", { class: "muted" }, "sha256 of the prepared data ", html("code", {}, cell.hash)),
  ].filter(Boolean).flatMap((one) => [one, " · "]).slice(0, -1);
  parts.push(html("h4", {}, "Reproduce this number"), command(cell.command), html("p", { class: "small" }, ...links));
  return [[`${cell.place} `, html("small", {}, cell.metric)], parts];
}

// Cells: a click opens one, and the address follows; the arrow keys go from one to the next.
function cells() {
  const open = async (button) => {
    const view = button.closest(".view");
    const about = await load(view.dataset.cells);
    if (document.querySelector(".sheet[open]")) return;
    address(`#${button.id}`);
    button.focus({ preventScroll: true });
    openSheet(...detailsOf(about[button.id], button.id), () => address(`#${view.id}`));
  };
  const openAsked = () => { if (addressed()?.matches("button.cell")) open(addressed()); };
  openAsked();
  addEventListener("hashchange", openAsked);
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  for (const table of all(".result")) {
    table.addEventListener("click", (event) => {
      const cell = event.target.closest(".cell");
      if (cell) open(cell);
    });
    table.addEventListener("keydown", (event) => {
      const cell = event.target.closest(".cell");
      if (!cell || !step[event.key]) return;
      event.preventDefault();
      const [down, right] = step[event.key];
      const columns = table.tHead.rows[0].cells.length;
      let [row, column] = [cell.closest("tr").rowIndex + down, cell.closest("td").cellIndex + right];
      for (; table.rows[row] && column > 0 && column < columns; row += down, column += right) {
        const next = table.rows[row].cells[column]?.querySelector(".cell");
        if (next) return next.focus();
      }
    });
  }
  for (const chip of all("button[data-verdict]")) {
    chip.addEventListener("click", () => {
      toggle(chip);
      const view = chip.closest(".view");
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
      const button = html("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => {
          const cell = row.cells[column];
          const text = cell.dataset.sort ?? cell.textContent.trim();
          const isNumber = head.dataset.kind === "number" || cell.dataset.sort !== undefined;
          return isNumber ? parseFloat(text.replace("−", "-").replaceAll(",", "")) : text.toLowerCase();
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

// A form whose fields the address may set (?paper=dom), and follows; `show` is called with their values.
// Returns the function that calls it again.
function asking(form, show) {
  const asked = new URLSearchParams(location.search);
  for (const field of form.elements) if (field.name && asked.has(field.name)) field.value = asked.get(field.name);
  const again = () => show(Object.fromEntries(new FormData(form)));
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    address(`?${new URLSearchParams([...new FormData(form)].filter(([, one]) => one))}`);
    again();
  });
  again();
  return again;
}

// Rows that a form asks for.
function filter(form) {
  const list = document.getElementById(form.getAttribute("data-filters")); // a field may be named dataset
  const rows = [...(list.tBodies ? list.tBodies[0].rows : list.children)];
  asking(form, ({ text, ...given }) => {
    const words = wordsOf(text);
    // The outcome of a claim is that under the reading whose columns are shown.
    const value = (row, name) => row.getAttribute(`data-${name === "outcome" ? given.reading.replaceAll("_", "-") : name}`);
    for (const row of rows) {
      const fits = Object.entries(given).every(([name, wanted]) => !wanted || [null, wanted].includes(value(row, name)));
      row.hidden = !fits || !words.every((word) => row.textContent.toLowerCase().includes(word));
    }
    for (const cell of all("[data-reading]:is(th, td)", list)) cell.hidden = cell.dataset.reading !== given.reading;
    const count = rows.filter((row) => !row.hidden).length;
    form.querySelector(".count").textContent = `${count} of ${rows.length}`;
    document.querySelector(".nothing").hidden = count > 0;
  });
}

// The charts of a figure, drawn when their reading is first shown.
function panels() {
  const drawn = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(async ({ target }) => {
    drawn.unobserve(target);
    const charts = await load(target.dataset.charts);
    target.replaceChildren(...charts[target.closest(".view").id].map(panel));
  }));
  all("[data-charts]").forEach((place) => drawn.observe(place));
}

// The search: pages, claims and open questions that have all words, those in whose title they are first.
function search() {
  const form = document.querySelector(".search");
  const [box, found] = [form.querySelector("input"), form.querySelector("ul")];
  form.hidden = false;
  const show = async () => {
    const entries = await load("search");
    const words = wordsOf(box.value);
    const has = (text) => words.every((word) => text.toLowerCase().includes(word));
    const titled = entries.filter((one) => has(one.title));
    const others = entries.filter((one) => !titled.includes(one) && has(`${one.title} ${one.text || ""}`));
    const links = [...titled, ...others].slice(0, 12).map((one) => {
      const at = (one.text || "").toLowerCase().indexOf(words[0]);
      const around = at < 0 ? "" : `…${one.text.slice(Math.max(0, at - 30), at + 70)}…`;
      return html("li", {}, html("a", { href: one.to }, one.title, html("small", {}, around)));
    });
    found.hidden = !words.length;
    found.replaceChildren(...(links.length ? links : [html("li", {}, "Nothing has all these words.")]));
  };
  box.addEventListener("focus", () => load("search"));
  box.addEventListener("input", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    found.querySelector("a")?.click();
  });
  form.addEventListener("keydown", (event) => { if (event.key === "Escape") found.hidden = true; });
  document.addEventListener("click", (event) => { if (!form.contains(event.target)) found.hidden = true; });
}

// The atlas: compared cells as a forest plot.
async function atlas() {
  const list = document.getElementById("atlas");
  if (!list) return;
  const form = document.querySelector("form.filters");
  const rows = await load("atlas");
  if (!location.search && rows.length) form.elements.view.value = rows[0].view;
  // Logarithmic away from 0, so that one axis has differences of 1% and of 100%.
  const place = (share) => 50 + 50 * Math.sign(share) * Math.min(1, Math.log1p(Math.abs(share) / 5) / Math.log1p(20));
  const told = (share) => `${share > 0 ? "+" : ""}${Number(share.toPrecision(3))}`.replace("-", "−");
  for (const mark of all("[data-mark]")) mark.style.left = `${place(Number(mark.dataset.mark))}%`;
  const items = rows.map(({ table, anchor, place: name, delta, low, high, ...about }) => {
    const [left, right] = [place(low), place(high)];
    const where = html("small", {}, `${table}, ${spaced(about.view)}, ${about.metric}`);
    const item = html("li", { class: about.verdict }, html("a", { href: `table-${table}.html#${anchor}` }, name, " ", where),
      html("span", { class: "plot", "aria-hidden": "true" },
        html("i", { class: "interval", style: `left:${left}%;width:${right - left}%` }), html("i", { class: "dot", style: `left:${place(delta)}%` })),
      html("span", { class: "told" }, `${told(delta)}% `, html("small", {}, `${told(low)} to ${told(high)}`), html("span", { class: "hidden" }, about.verdict)));
    Object.assign(item.dataset, about);
    return [item, delta];
  });
  const order = { "": () => 0, difference: (a, b) => a[1] - b[1], size: (a, b) => Math.abs(b[1]) - Math.abs(a[1]) };
  const sort = () => list.replaceChildren(...[...items].sort(order[document.getElementById("order").value]).map(([item]) => item));
  document.getElementById("order").addEventListener("change", sort);
  sort();
  filter(form);
}

for (const part of [themes, cells, sorting, panels, search, atlas]) part();
for (const form of all("form.filters:not(.late)")) filter(form);
