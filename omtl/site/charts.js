// Charts as SVG in the page's own colours, drawn from numbers when they are asked for.
"use strict";

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child || child === 0));
  return element;
};
// An element of HTML or SVG; whatever is text stays text.
const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// How a line is drawn: in one of eight colours; a further line has the colour of another and other dashes.
const look = (colour, names) => ({ class: `${names} d${Math.floor(colour / 8)}`, style: `--colour: var(--c${colour % 8})` });

// A number as an axis label.
function shown(value) {
  if (value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3)) {
    const [mantissa, power] = value.toExponential(2).split("e");
    const raised = String(Number(power)).replace(/./g, (one) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(one)]);
    return Number(mantissa) === 1 ? `10${raised}` : `${Number(mantissa)}·10${raised}`;
  }
  return String(Number(value.toPrecision(6))).replace("-", "−");
}

// The function from numbers to places along an axis: logarithmic above the `least`, if one is given.
function scale(low, high, start, end, least = 0) {
  const unit = least ? (value) => Math.log1p(value / least) : Number;
  const [first, last] = [unit(low), unit(high)];
  const place = (value) => start + (last > first ? (unit(value) - first) / (last - first) : 0.5) * (end - start);
  return Object.assign(place, { low, high, start, end, least });
}

// The least of positive numbers most of which are far below the largest, or else 0.
function leastOf(values) {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const [most, middle] = [sorted.at(-1), sorted[Math.floor(sorted.length / 2)]];
  const least = sorted.find((value) => value > 0);
  return sorted.length < 4 || sorted[0] < 0 || most < 50 * least || middle > most / 4 ? 0 : least;
}

// Round numbers along an axis.
function ticks({ low, high, least }, most = 6) {
  const upTo = (first, last, step) => Array.from({ length: Math.max(0, Math.floor((last - first) / step + 1e-9) + 1) }, (_, k) => first + k * step);
  if (least && high / least >= 100) {
    const [first, last] = [Math.ceil(Math.log10(least) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
    return [...(low > 0 ? [] : [0]), ...upTo(first, last, Math.ceil((last - first) / most) || 1).map((power) => Number(`1e${power}`))];
  }
  const raw = (high - low) / most || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw * (1 - 1e-9));
  return upTo(Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9), 1).map((k) => Number((k * step).toPrecision(12)));
}

function picture(kind, width, height, label, ...parts) {
  return svg("svg", { class: `chart ${kind}`, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts);
}

// The axis of x below the places from `top` to `bottom`.
function axisBelow(across, top, bottom, label) {
  const marks = ticks(across).map((tick) => [
    svg("line", { x1: across(tick), x2: across(tick), y1: top, y2: bottom }),
    svg("text", { x: across(tick), y: bottom + 15, "text-anchor": "middle" }, shown(tick)),
  ]);
  const middle = (across.start + across.end) / 2;
  return svg("g", { class: "axis" }, ...marks, svg("text", { class: "label", x: middle, y: bottom + 32, "text-anchor": "middle" }, label));
}

// Both axes of a chart.
function axes(across, up, below, left) {
  const marks = ticks(up).map((tick) => [
    svg("line", { x1: across.start, x2: across.end, y1: up(tick), y2: up(tick) }),
    svg("text", { x: across.start - 6, y: up(tick) + 4, "text-anchor": "end" }, shown(tick)),
  ]);
  const middle = (up.start + up.end) / 2;
  const turned = { class: "label", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` };
  return [axisBelow(across, up.end, up.start, below), svg("g", { class: "axis" }, ...marks, svg("text", turned, left))];
}

// The published number, ours, their deviations, and our repeats as dots that do not cover each other.
function numberLine(cell, label) {
  const DOT = 3.2;
  const rows = [["ours", cell.ours_mean, cell.ours_std || 0]];
  if (cell.published_mean) rows.unshift(["published", Number(cell.published_mean), Number(cell.published_std || 0)]);
  const ends = [...rows.flatMap(([, mean, std]) => [mean - std, mean + std]), ...cell.repeats];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = 0.06 * (high - low) || 0.05 * Math.abs(high) || 1;
  const across = scale(low - room, high + room, 82, 548);
  const parts = rows.map(([name, mean, std], row) => svg("g", look(name === "ours" ? 7 : 6, "mean"),
    svg("text", { x: 72, y: 22 + 24 * row, "text-anchor": "end" }, name),
    svg("line", { x1: across(mean - std), x2: across(mean + std), y1: 18 + 24 * row, y2: 18 + 24 * row }),
    svg("circle", { cx: across(mean), cy: 18 + 24 * row, r: 5 })));
  const placed = [];
  for (const value of [...cell.repeats].sort((a, b) => a - b)) {
    const taken = placed.filter((one) => across(value) - one.x < 2 * DOT).map((one) => one.height);
    let height = 0;
    while (taken.includes(height)) height += 1;
    placed.push({ x: across(value), height, value });
  }
  const levels = Math.max(...placed.map((one) => one.height)) + 1;
  const step = Math.min(2 * DOT, 60 / levels);
  const base = 18 + 24 * rows.length + levels * step - DOT;
  const dots = placed.map((one) => svg("circle", { cx: one.x, cy: base - one.height * step, r: DOT }, svg("title", {}, shown(one.value))));
  const name = svg("text", { x: 72, y: base - levels * step / 2 + 6, "text-anchor": "end" }, "repeats");
  return picture("numbers", 560, base + 50, label, axisBelow(across, 6, base + 12, cell.unit), ...parts, svg("g", look(7, "repeats"), name, ...dots));
}

// Lines with bands of a standard deviation; the pointer and the arrow keys read their numbers.
// Returns the chart and the element that says what is read; `hide` shows or hides a line.
function lineChart({ lines, colours = [7], x: below, y: left, label, width = 640 }) {
  const drawn = lines.filter((line) => line.kind !== "published");
  const height = lines.length > 1 ? 300 : 190;
  const [xs, ys] = [drawn.flatMap((line) => line.x), drawn.flatMap((line) => line.y)];
  const median = [...ys].sort((a, b) => a - b)[Math.floor(ys.length / 2)];
  const log = drawn.length > 1 && Math.min(...ys) > 0 && Math.max(...ys) / median > 20;
  // The first tenth of a run may exceed the axes.
  const reach = lines.flatMap((line) => line.y.map((y, i) => [y, log || !line.std ? 0 : line.std[i]])
    .slice(line.kind === "run" && !log ? Math.floor(line.y.length / 10) : 0)
    .flatMap(([y, std]) => [y - std, y + std]));
  const [low, high] = [Math.min(...reach), Math.max(...reach)];
  const room = 0.05 * (high - low) || 0.05 * Math.abs(high) || 1;
  const across = scale(Math.min(...xs), Math.max(...xs), 62, width - 14, leastOf(xs));
  const up = log ? scale(low / 1.2, high * 1.2, height - 42, 10, low) : scale(low - room, high + room, height - 42, 10);
  const path = (points) => `M${points.map(([x, y]) => `${across(x).toFixed(1)} ${up(y).toFixed(1)}`).join("L")}`;

  const groups = lines.map((line, number) => {
    const points = line.x.map((x, i) => [x, line.y[i]]);
    const group = svg("g", look(colours[number], `line ${line.kind}`));
    if (line.kind === "published") {
      group.append(...points.map(([x, y]) => svg("path", { d: `M${x === null ? across.end : across(x)} ${up(y)}l9 -5v10z` })));
      return group;
    }
    // What leaves the axes is cut off, not drawn along their edge.
    const box = { x: across.start, y: up.end, width: across.end - across.start, height: up.start - up.end };
    const frame = svg("svg", { ...box, viewBox: Object.values(box).join(" ") });
    if (line.std && !log) {
      const [above, under] = [1, -1].map((sign) => points.map(([x, y], i) => [x, y + sign * line.std[i]]));
      frame.append(svg("path", { class: "band", d: `${path([...above, ...under.reverse()])}Z` }));
    }
    frame.append(svg("path", { class: "mean", d: path(points) }));
    const dots = points.length > 12 ? [] : points.filter(([, y]) => up(y) >= up.end && up(y) <= up.start);
    group.append(frame, ...dots.map(([x, y]) => svg("circle", { cx: across(x), cy: up(y), r: 2.6 })));
    return group;
  });
  const cursor = svg("line", { class: "cursor", y1: up.end, y2: up.start, hidden: true });
  const readout = html("output", { class: "readout small" });
  const chart = picture("lines", width, height, label, ...axes(across, up, below, left), ...groups, cursor);
  chart.setAttribute("tabindex", 0);

  const stops = [...new Set(xs)].sort((a, b) => a - b);
  let at = -1;
  const told = (number) => Number(number.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 5 });
  const read = (number) => {
    at = Math.max(0, Math.min(stops.length - 1, number));
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, across(stops[at]));
    cursor.removeAttribute("hidden");
    readout.replaceChildren(`${below} ${told(stops[at])}: `);
    lines.forEach((line, number) => {
      const where = line.x.indexOf(stops[at]);
      if (where < 0 || line.kind === "published" || groups[number].hasAttribute("hidden")) return;
      readout.append(drawn.length > 1 ? `${line.label} ` : "", html("b", {}, told(line.y[where])), "  ");
    });
  };
  chart.addEventListener("pointermove", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
    const away = stops.map((stop) => Math.abs(across(stop) - point.x));
    read(away.indexOf(Math.min(...away)));
  });
  chart.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: stops.length }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    read(to);
  });
  const hide = (number, hidden) => {
    groups[number].toggleAttribute("hidden", hidden);
    if (at >= 0) read(at);
  };
  return { chart, readout, hide };
}

// A matrix of weights, one row per learning task; each square shows its weight.
function heatMap(weights, label) {
  const size = 14;
  // The weight of a task on itself can hide all others: colours are spread over these.
  const others = weights.flatMap((row, i) => row.filter((_, j) => i !== j));
  const shade = scale(Math.min(...others), Math.max(...others), 0, 1);
  const squares = weights.flatMap((row, i) => row.map((weight, j) => svg("rect", {
    x: 26 + size * j, y: 6 + size * i, width: size - 1, height: size - 1,
    "fill-opacity": Math.max(0, Math.min(1, shade(weight))).toFixed(3),
  }, svg("title", {}, `task ${i + 1} from task ${j + 1}: ${Number(weight.toPrecision(4))}`))));
  return picture("heat", 32 + size * weights[0].length, 12 + size * weights.length, label, ...squares);
}

// A panel of a figure: its caption, the names of its lines, which hide them, its chart and its notes.
function panel(one) {
  const parts = [html("figcaption", {}, html("b", {}, one.panel), ` ${one.title} `, html("span", { class: "muted" }, one.part))];
  const label = `${[one.title, one.part].filter(Boolean).join(", ")}: `;
  if (one.weights.length) {
    parts.push(heatMap(one.weights, `${label}how much each task learns from each other one`));
  } else if (one.names) {
    const played = [...one.lines.entries()].filter(([, line]) => line.kind !== "published");
    const ends = played.map(([, line]) => `${line.label} ends at ${shown(line.y.at(-1))}`).join(", ");
    const { chart, readout, hide } = lineChart({ ...one, label: `${label}${ends}.` });
    const key = played.map(([number, line]) => {
      const sample = svg("svg", { width: 22, height: 8, "aria-hidden": "true" }, svg("path", { class: "mean", d: "M1 4H21" }));
      const box = html("input", { type: "checkbox", class: "hidden", checked: true });
      box.addEventListener("change", () => hide(number, !box.checked));
      return html("li", {}, html("label", look(one.colours[number], line.kind), box, sample, ` ${line.label}`));
    });
    parts.push(html("ul", { class: "row key" }, ...key), chart, readout);
  }
  if (one.notes.length) {
    const notes = one.notes.map((note) => html("li", {}, note));
    parts.push(html("details", {}, html("summary", {}, `${notes.length} notes`), html("ul", {}, ...notes)));
  }
  return html("figure", {}, ...parts);
}
