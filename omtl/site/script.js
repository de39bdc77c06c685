// What the pages do: they show all numbers without it, and with it what each is made of.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const spaced = (name) => name.replaceAll("_", " ");
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
const addressed = () => document.getElementById(location.hash.slice(1));
const address = (text) => history.replaceState(null, "", text);

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

// Colours: as set in the system, light or dark.
function themes() {
  const choice = document.querySelector(".theme");
  choice.hidden = false;
  try {
    choice.value = localStorage.getItem("theme") || "";
    choice.addEventListener("change", () => localStorage.setItem("theme", choice.value));
  } catch { /* a file address may have no storage */ }
}

// A command, which has a button that copies it.
function command(words) {
  const parts = words.split(" ").flatMap((word) => [html("span", {}, word), " "]);
  return copied(html("div", { class: "command" }, html("code", {}, ...parts.slice(0, -1))));
}
function copied(box) {
  const button = html("button", { type: "button", class: "copy" }, "copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(box.firstElementChild.textContent);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
  if (navigator.clipboard) box.append(button);
  return box;
}

// Open a sheet over the page; `closed` is called when it is closed.
function openSheet(title, parts, closed = null) {
  const sheet = document.querySelector(".sheet");
  sheet.querySelector("h3").replaceChildren(...title);
  sheet.lastElementChild.replaceChildren(...parts.filter(Boolean));
  sheet.onclose = closed;
  sheet.onclick = (event) => { if (event.target === sheet) sheet.close(); };
  sheet.showModal();
}

// What is known about a cell, from top to bottom.
function detailsOf(cell, id) {
  const fact = (name, text) => {
    const [mean, spread] = text.split(" ± ");
    return html("div", {}, html("dt", {}, name), html("dd", {}, mean, spread && html("i", {}, ` ± ${spread}`)));
  };
  const chip = html("span", { class: `chip ${cell.verdict}` }, html("span", { "aria-hidden": "true" }, cell.mark), ` ${cell.verdict}`);
  const why = `${cell.why[0].toUpperCase()}${cell.why.slice(1)}.`.replace(/\.\.$/, ".");
  const parts = [
    html("dl", { class: "row versus" },
      fact("ours", cell.shown_ours),
      cell.printed && fact("published", cell.printed),
      cell.verdict && html("div", {}, html("dt", {}, "verdict"), chip)),
    html("p", { class: "diagnosis" }, ...why.split("`").map((part, number) => (number % 2 ? html("code", {}, part) : part))),
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
    const entries = cell.parameters.flatMap(([name, value, grid]) => {
      const atEdge = grid.length > 2 && [grid[0], grid.at(-1)].includes(value);
      const values = grid.flatMap((one) => [" ", html("code", { class: one === value && "chosen" }, one)]);
      const among = html("span", { class: "muted small" }, ...(values.length ? [" from", ...values] : [" fixed"]));
      const edge = atEdge && html("span", { class: "edge" }, ", at the edge of the grid");
      return [html("dt", {}, html("code", {}, name)), html("dd", {}, html("code", {}, value), among, edge)];
    });
    parts.push(html("h4", {}, "Hyper-parameters ", html("small", {}, `rule: ${spaced(cell.selection)}`)), html("dl", {}, ...entries));
  }
  const links = html("p", { class: "row" },
    cell.learner && html("a", { href: `learner-${cell.learner}.html` }, "the learner"),
    cell.data && html("a", { href: `data-${cell.data}.html` }, "the data"),
    id && html("a", { href: `#${id}` }, "link to this cell"),
    cell.hash && html("span", { class: "muted" }, "sha256 of the prepared data ", html("code", {}, cell.hash)));
  parts.push(html("h4", {}, "Reproduce this number"), command(cell.command), links);
  return [[`${cell.place} `, html("small", {}, cell.metric)], parts];
}

// Cells: a click opens one, and the address follows; the arrow keys go from one to the next.
function cells() {
  const open = async (cell) => {
    const about = await load(cell.closest("table").dataset.cells);
    if (document.querySelector(".sheet[open]")) return;
    address(`#${cell.id}`);
    cell.focus({ preventScroll: true });
    openSheet(...detailsOf(about[cell.id], cell.id), () => address(`#${cell.closest(".view").id}`));
  };
  const openAsked = () => { if (addressed()?.matches("button.cell")) open(addressed()); };
  openAsked();
  addEventListener("hashchange", openAsked);
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  for (const cell of all(".cell")) {
    cell.addEventListener("click", () => open(cell));
    cell.addEventListener("keydown", (event) => {
      if (!steps[event.key]) return;
      event.preventDefault();
      const [down, right] = steps[event.key];
      const { rows } = cell.closest("table");
      let [row, column] = [cell.closest("tr").rowIndex + down, cell.closest("td").cellIndex + right];
      while (rows[row]?.cells[column] && !rows[row].cells[column].querySelector(".cell")) [row, column] = [row + down, column + right];
      rows[row]?.cells[column]?.querySelector(".cell").focus();
    });
  }
  for (const form of all(".legend")) {
    form.addEventListener("change", () => {
      const wanted = new FormData(form).getAll("verdict").map((verdict) => `.${verdict}`).join();
      for (const cell of all(".cell", form.parentElement)) cell.classList.toggle("dim", wanted !== "" && !cell.matches(wanted));
    });
  }
}

// Tables whose heads sort them.
function sorting() {
  for (const table of all("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    const value = ({ cells }, column) => {
      const text = cells[column].dataset.sort ?? cells[column].textContent.trim();
      const isNumber = cells[column].matches(".n, [data-sort]");
      return isNumber ? parseFloat(text.replace("−", "-").replaceAll(",", "")) : text.toLowerCase();
    };
    heads.forEach((head, column) => {
      const button = html("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.ariaSort !== "ascending";
        for (const other of heads) other.ariaSort = null;
        head.ariaSort = up ? "ascending" : "descending";
        const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
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
    form.querySelector("output").textContent = `${count || "none"} of ${rows.length}`;
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
  const [box, found] = form.children;
  form.hidden = false;
  box.addEventListener("focus", () => load("search"));
  box.addEventListener("input", async () => {
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
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    found.querySelector("a")?.click();
  });
}

// The atlas: compared cells as a forest plot.
async function atlas() {
  const list = document.getElementById("atlas");
  if (!list) return;
  const rows = await load("atlas");
  if (!location.search && rows.length) document.querySelector("[data-filters]").elements.view.value = rows[0].view;
  // Logarithmic away from 0, so that one axis has differences of 1% and of 100%.
  const place = (share) => 50 + 50 * Math.sign(share) * Math.min(1, Math.log1p(Math.abs(share) / 5) / Math.log1p(20));
  const told = (share) => `${share > 0 ? "+" : ""}${Number(share.toPrecision(3))}`.replace("-", "−");
  for (const mark of all("[data-mark]")) mark.style.left = `${place(Number(mark.dataset.mark))}%`;
  const items = rows.map(({ table, anchor, place: name, delta, low, high, ...about }) => {
    const [left, right] = [place(low), place(high)];
    const where = html("small", {}, `${table}, ${spaced(about.view)}, ${about.metric}`);
    const item = html("li", { class: about.verdict }, html("a", { href: `table-${table}.html#${anchor}` }, name, " ", where),
      html("span", { class: "plot", "aria-hidden": "true" },
        html("i", { style: `left:${left}%;width:${right - left}%` }), html("i", { class: "dot", style: `left:${place(delta)}%` })),
      html("span", { class: "told small" }, `${told(delta)}% `, html("small", {}, `${told(low)} to ${told(high)}`), html("span", { class: "hidden" }, about.verdict)));
    Object.assign(item.dataset, about);
    return [item, delta];
  });
  const order = { "": () => 0, difference: (a, b) => a[1] - b[1], size: (a, b) => Math.abs(b[1]) - Math.abs(a[1]) };
  const sort = () => list.replaceChildren(...[...items].sort(order[document.getElementById("order").value]).map(([item]) => item));
  document.getElementById("order").addEventListener("change", sort);
  sort();
}

for (const part of [themes, cells, sorting, panels, search]) part();
all(".command").forEach(copied);
atlas().then(() => all("[data-filters]").forEach(filter));
