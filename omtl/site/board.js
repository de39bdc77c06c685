// The board for a subset: battles, ratings and shares as omtl/evidence/ratings.py has them.
"use strict";

const PRIOR = 0.5, SCALE = 400, CENTRE = 1000, RESAMPLES = 100;

// Bradley and Terry's model by minorisation and maximisation, which needs no linear algebra.
function elo(wins, steps) {
  let p = wins.map(() => 1);
  for (let step = 0, away = 1; step < steps && away > 1e-8; step++) {
    const fresh = p.map((mine, i) => {
      let [gained, rate] = [PRIOR, 2 * PRIOR / (mine + 1)];
      for (let j = 0; j < p.length; j++) {
        gained += wins[i][j];
        rate += (wins[i][j] + wins[j][i]) / (mine + p[j]);
      }
      return gained / rate;
    });
    away = Math.max(...fresh.map((one, i) => Math.abs(Math.log(one / p[i]))));
    p = fresh;
  }
  const points = p.map((one) => SCALE * Math.log10(one));
  const mean = points.reduce((a, b) => a + b, 0) / p.length;
  return points.map((one) => CENTRE + one - mean);
}

// Numbers that look random and are always the same: Park and Miller's generator.
function random(seed) {
  return () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
}

// The ratings, intervals and shares of learners, by their numbers, on data sets.
function rank({ lower, region, learners }, sets, who) {
  // Who wins against whom in a repeat: 1, ½, 0, or null where there is no battle.
  const won = (mine, other, border) => {
    if (mine === null || other === null) return null;
    const [a, b] = lower ? [mine, other] : [other, mine];
    return a * border < b ? 1 : b * border < a ? 0 : 0.5;
  };
  const battles = (border) => sets.map((set) => who.map((i) => who.map((j) => (
    i === j ? [] : set.values[i].map((mine, r) => won(mine, set.values[j][r], border))))));
  const strict = battles(1);
  // A data set counts as one battle of each pair, whatever its repeats.
  const ratings = (drawn, steps) => {
    const wins = who.map(() => who.map(() => 0));
    for (const [set, repeats] of drawn) {
      who.forEach((_, a) => who.forEach((__, b) => {
        const each = repeats.map((r) => strict[set][a][b][r] ?? null).filter((one) => one !== null);
        if (each.length) wins[a][b] += each.reduce((sum, one) => sum + one, 0) / each.length;
      }));
    }
    return elo(wins, steps);
  };
  const every = sets.map((set, number) => [number, [...set.values[0].keys()]]);
  const next = random(1), pick = (list) => list.map(() => list[Math.floor(next() * list.length)]);
  const again = Array.from({ length: RESAMPLES }, () => ratings(pick(every).map(([set, repeats]) => [set, pick(repeats)]), 200));
  const [tolerant, points] = [battles(1 + region), ratings(every, 10000)];
  return who.map((i, a) => {
    const met = tolerant.flatMap((set) => set[a].map((each) => each.filter((one) => one !== null)).filter((each) => each.length));
    const share = (outcome) => met.reduce((sum, each) => sum + each.filter((one) => one === outcome).length / each.length, 0) / (met.length || 1);
    const sorted = again.map((one) => one[a]).sort((x, y) => x - y);
    const interval = [sorted[Math.floor(0.025 * RESAMPLES)], sorted[Math.ceil(0.975 * RESAMPLES) - 1]];
    return { name: learners[i].name, elo: points[a], interval, win: share(1), tie: share(0.5), loss: share(0) };
  });
}

// Ratings against time, with a line through the learners that no other beats in both.
function frontChart(points) {
  const sorted = points.map(([label, elo, time]) => ({ label, elo, time })).sort((a, b) => a.time - b.time);
  const ratings = sorted.map((one) => one.elo);
  const across = scale(sorted[0].time / 2, sorted.at(-1).time * 1.25, 60, 690, sorted[0].time);
  const up = scale(Math.min(...ratings) - 30, Math.max(...ratings) + 30, 330, 20);
  const edge = sorted.filter((one, i) => sorted.slice(0, i).every((other) => other.elo < one.elo));
  const at = (one) => `${across(one.time).toFixed(1)},${up(one.elo).toFixed(1)}`;
  const dots = sorted.map((one) => svg("circle", { cx: across(one.time), cy: up(one.elo), r: 4 },
    svg("title", {}, `${one.label}: Elo ${one.elo.toFixed(0)}, time ${shown(Number(one.time.toPrecision(2)))}`)));
  const names = edge.map((one) => svg("text", { class: "label", x: across(one.time) - 6, y: up(one.elo) - 6, "text-anchor": "end" }, one.label));
  const label = "Ratings against time; the line joins learners that no other beats in both";
  return picture("repeats", 720, 380, label, ...axes(across, up, "time of the whole grid, relative to the median learner's", "Elo"),
    svg("g", look(7, ""), svg("path", { class: "mean", d: `M${edge.map(at).join("L")}` }), ...dots), ...names);
}

(async () => {
  const battles = await load("board");
  const { learners, grids, data: sets } = battles;
  const form = document.getElementById("subset");
  const table = document.getElementById("ranking").tBodies[0];
  const grid = document.getElementById("cells");
  const boxOf = (row) => row.querySelector("input");
  const rows = new Map([...table.rows].map((row) => [row.dataset.learner, row]));
  const competes = (name) => boxOf(rows.get(name)).checked;
  document.getElementById("front").append(frontChart(battles.front));
  document.querySelector(".board-hint").hidden = false;

  // A set fits a range such as 10-19, or a word.
  const fits = (value, wanted) => {
    const [low, high] = wanted.split("-").map(Number);
    return !wanted || (high ? low <= value && value <= high : value === wanted);
  };
  const show = (given) => {
    const chosen = sets.filter((one) => Object.entries(given).every(([name, wanted]) => fits(one[name], wanted)));
    const who = [...learners.keys()].filter((i) => competes(learners[i].name));
    form.querySelector("output").textContent = `${who.length} learners on ${chosen.length} of ${sets.length} data sets`;
    for (const row of grid.tBodies[0].rows) row.hidden = !competes(row.dataset.learner);
    for (const cell of all("[data-data]", grid)) cell.hidden = !chosen.some((one) => one.name === cell.dataset.data);
    if (chosen.length === sets.length && who.length === learners.length && !table.dataset.again) return; // as written
    table.dataset.again = true;
    for (const cell of all(".elo, .interval, .win, .tie, .loss", table)) cell.textContent = "";
    for (const one of chosen.length && who.length > 1 ? rank(battles, chosen, who).sort((a, b) => b.elo - a.elo) : []) {
      const row = rows.get(one.name);
      const texts = { elo: one.elo.toFixed(0), interval: one.interval.map((end) => end.toFixed(0)).join(" to ") };
      for (const name of ["win", "tie", "loss"]) texts[name] = `${(100 * one[name]).toFixed(0)}%`;
      for (const [name, text] of Object.entries(texts)) row.querySelector(`.${name}`).textContent = text;
      table.append(row);
    }
    for (const row of [...table.rows].filter((row) => !boxOf(row).checked)) table.append(row);
  };

  // A number opens what it was made of, as a cell of a table does.
  const open = (place) => {
    const set = sets.find((one) => one.name === place.dataset.data);
    const name = place.closest("tr").dataset.learner;
    const at = learners.findIndex((one) => one.name === name);
    const label = learners[at].label;
    const repeats = set.values[at];
    const mean = repeats.reduce((a, b) => a + b, 0) / repeats.length;
    const squares = repeats.reduce((sum, one) => sum + (one - mean) ** 2, 0);
    const [x, y] = [set.seen, set.curves[at]].map((text) => (text ? text.split(" ").map(Number) : []));
    const cell = {
      place: `${label} on ${set.title}`, metric: "error", unit: "mistakes per hundred", shown_ours: mean.toFixed(2),
      repeats, n_repeats: repeats.length, ours_mean: mean, ours_std: Math.sqrt(squares / Math.max(1, repeats.length - 1)),
      why: `the repeats ended with these points of the grid, counted from 0: ${set.chosen[at].split(" ").join(", ")}`,
      curve: y.length > 1 && y.length === x.length && { label, kind: "run", x, y },
      command: ["omtl run", `algorithm=${name}`, ...set.words, ...grids[name]].join(" "),
    };
    openSheet(...detailsOf(cell));
  };
  for (const cell of all("td[data-data]", grid).filter((one) => one.textContent.trim())) {
    const button = html("button", { type: "button", class: "number" }, ...cell.childNodes);
    button.addEventListener("click", () => open(cell));
    cell.append(button);
  }

  for (const box of all("input", table)) box.disabled = false;
  const again = asking(form, show);
  table.addEventListener("change", again);
  form.addEventListener("reset", () => setTimeout(again)); // after its fields and boxes
})();
