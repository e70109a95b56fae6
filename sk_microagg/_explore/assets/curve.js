// Loss against risk as k moves: a picture whose points set k, and the same as a table.
import { byId, fillTable, make, makeSvg, percent, setText, thousands } from "./dom.js";
import { canvas, pathOf, picture, redraw, text } from "./draw.js";

const LINES = [
  { name: "loss", words: "information loss", shape: "circle" },
  { name: "expected_matches", words: "expected re-identifications", shape: "square" },
  { name: "homogeneity", words: "homogeneity", shape: "diamond" },
];
const HEIGHT = 300;
const MARGIN = { left: 46, right: 22, top: 12, bottom: 44 };

const isKnown = (point, line) => typeof point[line.name] === "number";
const shareOf = (point, line) => point.words[line.name] ?? percent(point[line.name]);

function marker(shape, x, y) {
  if (shape === "circle") return makeSvg("circle", { cx: x, cy: y, r: 4.5 });
  const square = { x: x - 4, y: y - 4, width: 8, height: 8 };
  return makeSvg("rect", shape === "square" ? square : { ...square, transform: `rotate(45 ${x} ${y})` });
}

function niceStep(highest) {
  return [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25].find((step) => highest / step <= 5) ?? 0.25;
}

function wordsOf(k, point) {
  if (!point) return `k = ${thousands(k)}: not computed yet`;
  if (point.error) return `k = ${thousands(k)}: ${point.error}`;
  const known = LINES.filter((line) => isKnown(point, line));
  return `k = ${thousands(k)}: ${known.map((line) => `${line.words} ${shareOf(point, line)}`).join(", ")}`;
}

export class Curve {
  #host = byId("curve");
  #picture = make("div", { class: "picture" });
  #columns = make("div", { class: "columns" });
  #legend = make("p", { class: "note", "aria-hidden": "true" });
  #readout = make("p", { class: "readout", "aria-hidden": "true" });
  #points = new Map();
  #ks = [];
  #k = 2;
  #pick;

  /** `pick` is called with the k of a point that was chosen. */
  constructor(pick) {
    this.#pick = pick;
    this.#host.append(this.#legend, make("div", { class: "stage" }, this.#picture, this.#columns), this.#readout);
    picture(this.#picture, HEIGHT, (width) => this.#draw(width));
  }

  show(ks) {
    this.#ks = ks;
    this.#columns.replaceChildren(...ks.map((k) => this.#button(k)));
    this.clear();
  }

  clear() {
    this.#points.clear();
    this.#update();
  }

  has(k) {
    return this.#points.has(k);
  }

  add(point) {
    this.#points.set(point.k, point);
    this.#update();
  }

  mark(k) {
    if (!(k >= 2) || k === this.#k) return;
    this.#k = k;
    this.#update();
  }

  #button(k) {
    const button = make("button", { type: "button", "data-k": k });
    button.addEventListener("click", () => this.#pick(k));
    for (const name of ["mouseenter", "focus"]) button.addEventListener(name, () => this.#read(k));
    for (const name of ["mouseleave", "blur"]) button.addEventListener(name, () => this.#read(this.#k));
    return button;
  }

  #read(k) {
    setText(this.#readout, wordsOf(k, this.#points.get(k)));
  }

  #sorted() {
    return [...this.#points.values()].sort((one, other) => one.k - other.k);
  }

  #lines() {
    const points = this.#sorted();
    return LINES.filter((line) => line.name !== "homogeneity" || points.some((point) => isKnown(point, line)));
  }

  #update() {
    this.#host.dataset.points = this.#points.size;
    for (const button of this.#columns.children) {
      const k = Number(button.dataset.k);
      button.setAttribute("aria-label", `Set k to ${k}. ${wordsOf(k, this.#points.get(k))}`);
      button.setAttribute("aria-pressed", k === this.#k);
    }
    const lines = this.#lines();
    this.#legend.replaceChildren(...lines.map((line) => make("span", { class: `key curve-${line.name}` }, line.words)));
    this.#read(this.#k);
    const rows = this.#sorted().map((point) => [
      thousands(point.k),
      ...lines.map((line, i) => (isKnown(point, line) ? shareOf(point, line) : point.error && i === 0 ? point.error : "–")),
    ]);
    fillTable(byId("curve-table"), ["k", ...lines.map((line) => line.words)], rows);
    redraw(this.#picture);
  }

  #draw(width) {
    const points = this.#sorted();
    const label = `Information loss and risk against k. ${points.map((point) => wordsOf(point.k, point)).join("; ") || "Nothing is computed yet"}. The current k is ${this.#k}.`;
    const svg = canvas(width, HEIGHT, label);
    const ks = [...this.#ks, this.#k];
    const [low, high] = [Math.log(Math.min(...ks)), Math.log(Math.max(...ks, 3))];
    const [left, right] = [MARGIN.left + 14, width - MARGIN.right];
    const x = (k) => left + ((right - left) * (Math.log(k) - low)) / (high - low);
    const shares = points.flatMap((point) => LINES.filter((line) => isKnown(point, line)).map((line) => point[line.name]));
    const step = niceStep(Math.max(0.05, ...shares));
    const top = Math.max(step, Math.ceil(Math.max(0.05, ...shares) / step - 1e-9) * step);
    const bottom = HEIGHT - MARGIN.bottom;
    const y = (share) => bottom - ((bottom - MARGIN.top) * share) / top;
    this.#drawAxes(svg, { width, bottom, x, y, step, top });
    for (const line of this.#lines()) {
      const known = points.filter((point) => isKnown(point, line)).map((point) => [x(point.k), y(point[line.name])]);
      const group = makeSvg("g", { class: `curve-${line.name}` }, makeSvg("path", { class: "curve-line", d: pathOf(known) }));
      group.append(...known.map(([px, py]) => marker(line.shape, px, py)));
      svg.append(group);
    }
    for (const point of points.filter((one) => one.error)) {
      svg.append(text(x(point.k), bottom - 8, "×", { class: "impossible", "text-anchor": "middle" }));
    }
    this.#picture.replaceChildren(svg);
    this.#placeButtons(x, left, right);
  }

  #drawAxes(svg, { width, bottom, x, y, step, top }) {
    for (let share = 0; share <= top + 1e-9; share += step) {
      svg.append(
        makeSvg("path", { class: share > 0 ? "grid" : "axis", d: `M${MARGIN.left},${y(share)}H${width}` }),
        text(MARGIN.left - 8, y(share) + 4, `${Number((100 * share).toFixed(1))}%`, { "text-anchor": "end" }),
      );
    }
    const mark = x(this.#k);
    for (const k of this.#ks) {
      if (Math.abs(x(k) - mark) > 30) svg.append(text(x(k), bottom + 18, thousands(k), { "text-anchor": "middle" }));
    }
    svg.append(
      makeSvg("path", { class: "mark", d: `M${mark},${MARGIN.top}V${bottom}` }),
      makeSvg("rect", { class: "mark-label", x: mark - 19, y: bottom + 4, width: 38, height: 19, rx: 3 }),
      text(mark, bottom + 18, thousands(this.#k), { class: "mark-text", "text-anchor": "middle" }),
      text((MARGIN.left + width) / 2, HEIGHT - 4, "k, the smallest size of a group", { "text-anchor": "middle" }),
    );
  }

  /** Each k has a column of the picture as its button: easy to hit, and reached with the Tab key. */
  #placeButtons(x, left, right) {
    const places = this.#ks.map(x);
    [...this.#columns.children].forEach((button, i) => {
      const from = i > 0 ? (places[i - 1] + places[i]) / 2 : Math.max(left - 14, 0);
      const to = i + 1 < places.length ? (places[i] + places[i + 1]) / 2 : right + MARGIN.right;
      button.style.left = `${from}px`;
      button.style.width = `${to - from}px`;
    });
  }
}
