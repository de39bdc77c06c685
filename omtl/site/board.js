// The board for a subset: battles, ratings and shares as omtl/evidence/battles.py has them.
"use strict";

// Ranks learners on data sets, both as the battles have them.
function ranker({ lower, region, learners }) {
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

  return rank;
}

// Ratings against time, with a line through the learners that no other beats in both.
function frontChart(points) {
  const sorted = points.map(([label, elo, time]) => ({ label, elo, time })).sort((a, b) => a.time - b.time);
  const [times, ratings] = [sorted.map((one) => one.time), sorted.map((one) => one.elo)];
  const across = scale(times[0] / 2, times.at(-1) * 1.25, 60, 690, "log");
  const up = scale(Math.min(...ratings) - 30, Math.max(...ratings) + 30, 330, 20);
  const edge = sorted.filter((one, i) => sorted.slice(0, i).every((other) => other.elo < one.elo));
  const at = (one) => `${across(one.time).toFixed(1)},${up(one.elo).toFixed(1)}`;
  const dots = sorted.map((one) => svg("circle", { class: "entrant", cx: across(one.time), cy: up(one.elo), r: 4 },
    svg("title", {}, `${one.label}: Elo ${one.elo.toFixed(0)}, time ${shown(Number(one.time.toPrecision(2)))}`)));
  const names = edge.map((one) => svg("text", { class: "label", x: across(one.time) - 6, y: up(one.elo) - 6, "text-anchor": "end" }, one.label));
  const label = "Ratings against time; the line joins learners that no other beats in both";
  return picture("front", 720, 380, label,
    axisBelow(across, 335, "time of the whole grid, relative to the median learner's", 20), axisLeft(up, 60, 690, "Elo"),
    svg("polyline", { class: "edge", points: edge.map(at).join(" ") }), ...dots, ...names);
}

(async () => {
  const battles = await load("board");
  const { learners, grids, data: sets } = battles;
  const rank = ranker(battles);
  document.getElementById("front").append(frontChart(battles.front));
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
    const chosen = sets.filter((one) => (!of("kind") || one.kind === of("kind"))
      && (!of("rows") || one.rows === of("rows"))
      && (!of("tasks") || within(one.tasks, of("tasks")))
      && (!of("features") || within(one.features, of("features"))));
    const rows = new Map([...table.rows].map((row) => [row.dataset.learner, row]));
    const competes = (one) => rows.get(one.name).querySelector("input").checked;
    const who = learners.map((one, i) => (competes(one) ? i : -1)).filter((i) => i >= 0);
    const ranked = chosen.length && who.length > 1 ? rank(chosen, who).sort((a, b) => b.elo - a.elo) : [];
    form.querySelector(".count").textContent = `${who.length} learners on ${chosen.length} of ${sets.length} data sets`;
    for (const row of table.rows) for (const name of ["elo", "interval", "win", "tie", "loss"]) row.querySelector(`.${name}`).textContent = "";
    for (const one of ranked) {
      const row = rows.get(one.name);
      row.querySelector(".elo").textContent = one.elo.toFixed(0);
      row.querySelector(".interval").textContent = one.interval.map((end) => end.toFixed(0)).join(" to ");
      for (const name of ["win", "tie", "loss"]) row.querySelector(`.${name}`).textContent = `${(100 * one[name]).toFixed(0)}%`;
      table.append(row);
    }
    const shown = new Set(chosen.map((one) => one.name));
    for (const cell of grid.querySelectorAll("[data-data]")) cell.hidden = !shown.has(cell.dataset.data);
    for (const row of grid.tBodies[0].rows) row.hidden = !rows.get(row.dataset.learner).querySelector("input").checked;
    for (const row of [...table.rows].filter((row) => !row.querySelector("input").checked)) table.append(row);
  }

  // A number opens what it was made of.
  function open(cell) {
    const set = sets.find((one) => one.name === cell.dataset.data);
    const name = cell.closest("tr").dataset.learner;
    const at = learners.findIndex((one) => one.name === name);
    const read = (text) => (text ? text.split(" ").map(Number) : []);
    const repeats = set.values[at].map((value) => Number(value.toPrecision(4))).join(", ");
    const parts = [
      html("p", {}, `Repeats: ${repeats} mistakes per hundred.`),
      html("p", {}, `Points of its grid with which its repeats ended, from 0: ${set.chosen[at].split(" ").join(", ")}.`),
    ];
    const [x, y] = [read(set.seen), read(set.curves[at])];
    if (y.length > 1 && y.length === x.length) {
      const label = `Error rate so far: from ${y[0]}% after ${x[0]} examples to ${y.at(-1)}% after ${x.at(-1)}.`;
      const line = { label: learners[at].label, kind: "run", x, y };
      const { chart, readout } = lineChart({ lines: [line], looks: [[0, 0]], x: "examples", y: "error rate (%)", label, width: 600 });
      parts.push(html("h4", {}, "Error rate so far, averaged over the repeats"), chart, readout);
    }
    parts.push(html("h4", {}, "Reproduce this number"), command(["omtl run", `algorithm=${name}`, ...set.words, ...grids[name]].join(" ")));
    openSheet([`${learners[at].label} on ${set.title}`], parts);
  }
  for (const cell of grid.querySelectorAll("td[data-data]")) {
    if (!cell.textContent.trim()) continue;
    const button = html("button", { type: "button", class: "number" }, ...cell.childNodes);
    button.addEventListener("click", () => open(cell));
    cell.append(button);
  }

  form.addEventListener("input", show);
  form.addEventListener("reset", () => setTimeout(() => { for (const box of boxes) box.checked = true; show(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const box of boxes) box.addEventListener("change", show);
  if ([...form.elements].some((field) => field.name && field.value)) show();
})();
