// The board for a subset: battles, ratings and shares as omtl/evidence/battles.py has them.
"use strict";

const board = (() => {
  const { lower, region, learners, grids, data } = JSON.parse(document.getElementById("battles").textContent);
  const PRIOR = 0.5, SCALE = 400, CENTRE = 1000, STEPS = 10000, RESAMPLES = 100;

  // Who wins against whom in a repeat: 1, ½, 0, or null where there is no battle.
  function won(mine, other, border) {
    if (mine === null || other === null) return null;
    const [a, b] = lower ? [mine, other] : [other, mine];
    return a * border < b ? 1 : b * border < a ? 0 : 0.5;
  }

  // The wins of each over each other one; a data set counts as one battle.
  function total(sets, who, border, repeats) {
    const wins = who.map(() => new Float64Array(who.length));
    sets.forEach((set, s) => {
      const drawn = repeats ? repeats[s] : set.values[0].map((_, r) => r);
      who.forEach((i, a) => who.forEach((j, b) => {
        if (a === b) return;
        let sum = 0, fought = 0;
        for (const r of drawn) {
          const one = won(set.values[i][r], set.values[j][r], border);
          if (one !== null) { sum += one; fought += 1; }
        }
        if (fought) wins[a][b] += sum / fought;
      }));
    });
    return wins;
  }

  // Bradley and Terry's model by minorisation and maximisation, which needs no linear algebra.
  function elo(wins, steps = STEPS) {
    const n = wins.length;
    let p = new Float64Array(n).fill(1);
    for (let step = 0; step < steps; step++) {
      let away = 0;
      const fresh = p.map((mine, i) => {
        let gained = PRIOR, rate = 2 * PRIOR / (mine + 1);
        for (let j = 0; j < n; j++) {
          gained += wins[i][j];
          rate += (wins[i][j] + wins[j][i]) / (mine + p[j]);
        }
        away = Math.max(away, Math.abs(Math.log(gained / rate / mine)));
        return gained / rate;
      });
      p = fresh;
      if (away < 1e-8) break;
    }
    const points = [...p].map((one) => SCALE * Math.log10(one));
    const mean = points.reduce((a, b) => a + b, 0) / n;
    return points.map((one) => CENTRE + one - mean);
  }

  // Numbers that look random and are always the same.
  function random(seed) {
    return () => {
      seed = (seed + 0x6d2b79f5) | 0;
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  function intervals(sets, who) {
    const next = random(1), pick = (n) => Math.floor(next() * n);
    const drawn = [];
    for (let one = 0; one < RESAMPLES; one++) {
      const again = sets.map(() => sets[pick(sets.length)]);
      const repeats = again.map((set) => set.values[0].map(() => pick(set.values[0].length)));
      drawn.push(elo(total(again, who, 1, repeats), 200));
    }
    return who.map((_, a) => {
      const sorted = drawn.map((one) => one[a]).sort((x, y) => x - y);
      return [sorted[Math.floor(0.025 * RESAMPLES)], sorted[Math.ceil(0.975 * RESAMPLES) - 1]];
    });
  }

  function rank(sets, who) {
    const ratings = elo(total(sets, who, 1));
    const ends = intervals(sets, who);
    return who.map((i, a) => {
      const counts = { win: 0, tie: 0, loss: 0 };
      let fought = 0;
      for (const set of sets) for (const j of who) {
        const each = set.values[i].map((value, r) => (i === j ? null : won(value, set.values[j][r], 1 + region))).filter((one) => one !== null);
        for (const one of each) counts[one === 1 ? "win" : one === 0 ? "loss" : "tie"] += 1 / each.length;
        fought += each.length > 0;
      }
      for (const name in counts) counts[name] /= fought || 1;
      return { name: learners[i].name, elo: ratings[a], interval: ends[a], ...counts };
    });
  }

  return { learners, grids, data, rank };
})();

(() => {
  const form = document.querySelector(".board-filters");
  const table = document.getElementById("ranking").tBodies[0];
  const grid = document.getElementById("cells");
  const within = (value, range) => {
    const [low, high] = range.split("-").map(Number);
    return low <= value && value <= high;
  };
  const asked = new URLSearchParams(location.search);
  form.hidden = false;
  document.querySelector(".board-hint").hidden = false;
  for (const field of form.elements) if (field.name && asked.has(field.name)) field.value = asked.get(field.name);
  const boxes = [...table.querySelectorAll("input")];
  for (const box of boxes) box.disabled = false;

  function show() {
    const of = (name) => form.elements[name].value;
    const sets = board.data.filter((one) => (!of("kind") || one.kind === of("kind"))
      && (!of("rows") || one.rows === of("rows"))
      && (!of("tasks") || within(one.tasks, of("tasks")))
      && (!of("features") || within(one.features, of("features"))));
    const rows = new Map([...table.rows].map((row) => [row.dataset.learner, row]));
    const competes = (one) => rows.get(one.name).querySelector("input").checked;
    const who = board.learners.map((one, i) => (competes(one) ? i : -1)).filter((i) => i >= 0);
    const ranked = sets.length && who.length > 1 ? board.rank(sets, who).sort((a, b) => b.elo - a.elo) : [];
    form.querySelector(".count").textContent = `${who.length} learners on ${sets.length} of ${board.data.length} data sets`;
    for (const row of table.rows) for (const name of ["elo", "interval", "win", "tie", "loss"]) row.querySelector(`.${name}`).textContent = "";
    for (const one of ranked) {
      const row = rows.get(one.name);
      row.querySelector(".elo").textContent = one.elo.toFixed(0);
      row.querySelector(".interval").textContent = one.interval.map((end) => end.toFixed(0)).join(" to ");
      for (const name of ["win", "tie", "loss"]) row.querySelector(`.${name}`).textContent = `${(100 * one[name]).toFixed(0)} %`;
      table.append(row);
    }
    const shown = new Set(sets.map((one) => one.name));
    for (const cell of grid.querySelectorAll("[data-data]")) cell.hidden = !shown.has(cell.dataset.data);
    for (const row of grid.tBodies[0].rows) row.hidden = !rows.get(row.dataset.learner).querySelector("input").checked;
    for (const row of [...table.rows].filter((row) => !row.querySelector("input").checked)) table.append(row);
  }

  // A learning curve: its line, the ends of the axes, and the same in words.
  function draw(chart, seen, rates) {
    chart.parentElement.hidden = rates.length < 2 || rates.length !== seen.length;
    if (chart.parentElement.hidden) return;
    const [left, right, top, bottom] = [56, 590, 14, 150];
    const most = Math.max(...rates), low = Math.min(...rates), high = most > low ? most : low + 1;
    const x = (n) => left + (right - left) * n / seen[seen.length - 1];
    const y = (rate) => bottom - (bottom - top) * (rate - low) / (high - low);
    const last = seen.length - 1;
    const part = (name, attributes, text = "") => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      made.textContent = text;
      return made;
    };
    chart.setAttribute("aria-label", `Error rate so far: from ${rates[0]} % after ${seen[0]} examples to ${rates[last]} % after ${seen[last]}.`);
    chart.replaceChildren(
      part("path", { class: "frame", d: `M${left},${top}V${bottom}H${right}` }),
      part("polyline", { class: "curve", points: rates.map((rate, i) => `${x(seen[i]).toFixed(1)},${y(rate).toFixed(1)}`).join(" ") }),
      part("text", { x: left - 6, y: y(low) + 4, "text-anchor": "end" }, `${low} %`),
      part("text", { x: left - 6, y: y(high) + 4, "text-anchor": "end" }, most > low ? `${high} %` : ""),
      part("text", { x: left, y: bottom + 18 }, "0"),
      part("text", { x: right, y: bottom + 18, "text-anchor": "end" }, `${seen[last]} examples`),
    );
  }

  // A number opens what it was made of.
  const sheet = document.getElementById("board-cell");
  function open(cell) {
    const set = board.data.find((one) => one.name === cell.dataset.data);
    const name = cell.closest("tr").dataset.learner;
    const at = board.learners.findIndex((one) => one.name === name);
    sheet.querySelector("h3").textContent = `${board.learners[at].label} on ${set.title}`;
    sheet.querySelector(".repeats").textContent = `Repeats: ${set.values[at].map((value) => Number(value.toPrecision(4))).join(", ")} mistakes per hundred.`;
    sheet.querySelector(".points").textContent = `Points of its grid with which its repeats ended, from 0: ${set.chosen[at].split(" ").join(", ")}.`;
    sheet.querySelector("code").textContent = ["omtl run", `algorithm=${name}`, ...set.words, ...board.grids[name]].join(" ");
    const read = (text) => (text ? text.split(" ").map(Number) : []);
    draw(sheet.querySelector(".chart"), read(set.seen), read(set.curves[at]));
    sheet.showModal();
  }
  for (const cell of grid.querySelectorAll("td[data-data]")) {
    if (!cell.textContent.trim()) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "number";
    button.append(...cell.childNodes);
    button.addEventListener("click", () => open(cell));
    cell.append(button);
  }

  form.addEventListener("input", show);
  form.addEventListener("reset", () => setTimeout(() => { for (const box of boxes) box.checked = true; show(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const box of boxes) box.addEventListener("change", show);
  if ([...form.elements].some((field) => field.name && field.value)) show();
})();
