// Pictures: distributions of columns, and groups in the plane.
import { make, makeSvg, nameElement, percent, short, thousands } from "./dom.js";

const MOST_BARS = 12;

/** A picture that is drawn again whenever its width changes, so that its letters keep their size. */
export function picture(host, height, draw) {
  host.style.height = `${height}px`;
  drawings.set(host, { height, draw });
  observer.observe(host);
}

/** Draw again what `picture` has drawn, for new numbers. */
export function redraw(host) {
  const drawing = drawings.get(host);
  if (drawing && host.clientWidth > 0) drawing.draw(host.clientWidth, drawing.height);
}

const drawings = new WeakMap();
const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.isConnected) redraw(target);
    else observer.unobserve(target);
  }
});

export function canvas(width, height, label) {
  return makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

export function text(x, y, words, attributes = {}) {
  return makeSvg("text", { x, y, ...attributes }, words);
}

export function pathOf(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");
}

/** Densities of the bins of a histogram: bins differ in width. */
function densities(positions, shares) {
  const widest = positions.at(-1) - positions[0];
  return shares.map((share, i) => {
    const width = positions[i + 1] - positions[i];
    return width > 0 ? (share * widest) / width : share;
  });
}

function stairs(positions, heights, x, y) {
  return heights.flatMap((height, i) => [
    [x(positions[i]), y(height)],
    [x(positions[i + 1]), y(height)],
  ]);
}

function drawHistogram(svg, { positions, before, after }, [left, right, top, bottom]) {
  const [first, last] = [positions[0], positions.at(-1)];
  // All values are equal: one column in the middle.
  const x = (value) => (last > first ? left + ((right - left) * (value - first)) / (last - first) : NaN);
  const [gray, line] = [densities(positions, before), after ? densities(positions, after) : []];
  const highest = Math.max(...gray, ...line, 1e-12);
  const y = (height) => bottom - ((bottom - top) * height) / highest;
  if (!(last > first)) {
    const middle = (left + right) / 2;
    svg.append(makeSvg("rect", { class: "area", x: middle - 6, y: top, width: 12, height: bottom - top }));
    if (after) svg.append(makeSvg("path", { class: "line", d: pathOf([[middle, bottom], [middle, top]]) }));
    return;
  }
  const outline = [[left, bottom], ...stairs(positions, gray, x, y), [right, bottom]];
  svg.append(makeSvg("path", { class: "area", d: `${pathOf(outline)}Z` }));
  if (after) {
    const released = [[left, bottom], ...stairs(positions, line, x, y), [right, bottom]];
    svg.append(makeSvg("path", { class: "line", d: pathOf(released) }));
  }
}

function largest(shares) {
  return shares.indexOf(Math.max(...shares));
}

/** What a distribution shows, in words. */
function distributionWords(name, distribution) {
  if (distribution.type === "note") return `${short(name)}: ${distribution.text}`;
  const { before, after } = distribution;
  if (distribution.type === "bars") {
    const bars = distribution.categories.slice(0, 5).map((category, i) => {
      const released = after ? `, ${percent(after[i])} in the release` : "";
      return `${short(category, 30)} ${percent(before[i])}${released}`;
    });
    return `Shares of ${short(name)}: ${bars.join("; ")}`;
  }
  const { edges } = distribution;
  const between = (i) => `between ${edges[i]} and ${edges[i + 1]}`;
  const released = after ? `, in the release ${between(largest(after))}` : "";
  return `Distribution of ${short(name)}, from ${edges[0]} to ${edges.at(-1)}: most records are ${between(largest(before))}${released}`;
}

/** The distribution of a column as a small picture without labels. */
export function sketch(name, distribution) {
  if (!distribution) return make("span", { class: "sketch" });
  if (distribution.type === "note") return make("span", { class: "sketch note" }, distribution.text);
  const [width, height] = [136, 36];
  const svg = canvas(width, height, distributionWords(name, distribution));
  svg.classList.add("sketch");
  if (distribution.type === "histogram") {
    drawHistogram(svg, { ...distribution, after: undefined }, [0, width, 2, height - 1]);
  } else {
    const shares = distribution.before.slice(0, 16);
    const highest = Math.max(...shares, 1e-12);
    const step = Math.min(width / shares.length, 24);
    shares.forEach((share, i) => {
      const tall = ((height - 3) * share) / highest;
      svg.append(makeSvg("rect", { class: "area", x: i * step, y: height - 1 - tall, width: step - 2, height: tall }));
    });
  }
  svg.append(makeSvg("path", { class: "axis", d: `M0,${height - 0.5}H${width}` }));
  return svg;
}

function bars(name, { categories, before, after }) {
  const highest = Math.max(...before, ...(after ?? []), 1e-12);
  const part = (share) => `${(100 * share) / highest}%`;
  const rows = categories.slice(0, MOST_BARS).map((category, i) => {
    const gray = make("span", { class: "before" });
    gray.style.width = part(before[i]);
    const track = make("span", { class: "track" }, gray);
    if (after) {
      const line = make("span", { class: "after" });
      line.style.width = part(after[i]);
      track.append(line);
    }
    const words = after ? `${percent(before[i])} → ${percent(after[i])}` : percent(before[i]);
    return make("div", { class: "bar" }, nameElement(category), track, make("span", { class: "value" }, words));
  });
  const n_more = categories.length - rows.length;
  if (n_more > 0) rows.push(make("p", { class: "note" }, `and ${thousands(n_more)} more`));
  return make("div", { class: "bars", role: "img", "aria-label": distributionWords(name, { type: "bars", categories, before, after }) }, ...rows);
}

/** The distribution of a column, original and release. */
export function beforeAndAfter(name, distribution) {
  if (distribution.type === "note") return make("p", { class: "note" }, distribution.text);
  if (distribution.type === "bars") return bars(name, distribution);
  const host = make("div", { class: "picture" });
  picture(host, 140, (width, height) => {
    const svg = canvas(width, height, distributionWords(name, distribution));
    drawHistogram(svg, distribution, [1, width - 1, 6, height - 22]);
    const { edges } = distribution;
    svg.append(
      makeSvg("path", { class: "axis", d: `M0,${height - 21.5}H${width}` }),
      text(0, height - 6, short(edges[0], 20)),
      text(width, height - 6, short(edges.at(-1), 20), { "text-anchor": "end" }),
    );
    host.replaceChildren(svg);
  });
  return host;
}

/** Groups as bubbles whose area is proportional to their size. */
export function drawGroups(host, { points, sizes, axes, n_groups: nGroups }) {
  const [smallest, biggest] = [Math.min(...sizes), Math.max(...sizes)];
  const shown = points.length < nGroups ? `${thousands(points.length)} of ${thousands(nGroups)}` : thousands(nGroups);
  const label = `${shown} groups in the plane of ${axes[0]} and ${axes[1]}, with ${thousands(smallest)} to ${thousands(biggest)} records each`;
  picture(host, 340, (width, height) => {
    const svg = canvas(width, height, label);
    const scale = (values, from, to) => {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return (value) => (high > low ? from + ((to - from) * (value - low)) / (high - low) : (from + to) / 2);
    };
    const widest = Math.max(5, Math.min(20, Math.sqrt((width * height) / points.length) / 2.4));
    const margin = widest + 3;
    const x = scale(points.map((point) => point[0]), 28 + margin, width - margin);
    const y = scale(points.map((point) => point[1]), height - 28 - margin, margin);
    const order = points.map((_, i) => i).sort((i, j) => sizes[j] - sizes[i]);
    svg.append(makeSvg("path", { class: "axis", d: `M24.5,4V${height - 24.5}H${width}` }));
    for (const i of order) {
      const radius = widest * Math.sqrt(sizes[i] / biggest);
      svg.append(makeSvg("circle", { class: "bubble", cx: x(points[i][0]).toFixed(1), cy: y(points[i][1]).toFixed(1), r: radius.toFixed(1) }));
    }
    svg.append(
      text((24 + width) / 2, height - 6, short(axes[0], 60), { "text-anchor": "middle" }),
      text(0, 0, short(axes[1], 60), { "text-anchor": "middle", transform: `translate(14 ${(height - 24) / 2}) rotate(-90)` }),
    );
    host.replaceChildren(svg);
  });
}
