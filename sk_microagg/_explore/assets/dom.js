// Elements, and words for numbers. Text of the table enters the page only here, as text: never as markup.

const SVG = "http://www.w3.org/2000/svg";
const LONGEST_NAME = 60;
// Marks, embeddings, overrides and isolates of the direction of text.
const TURNING = /([\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])/;
const SHORT = 3; // seconds

export const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  const known = children.filter((child) => child !== null && child !== undefined);
  element.append(...known.flatMap((child) => (typeof child === "string" ? inOrder(child) : child)));
  return element;
}

/** A text whose characters are seen in their order: each that would turn the text after it is isolated. */
function inOrder(text) {
  const parts = text.split(TURNING);
  return parts.map((part, i) => {
    if (i % 2 === 0) return part;
    const isolated = document.createElement("bdi");
    isolated.textContent = part;
    return isolated;
  });
}

export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function makeSvg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Change a text only if it differs, so that screen readers do not repeat it. */
export function setText(element, text) {
  if (element.textContent !== text) element.replaceChildren(...inOrder(text));
}

/** Show a command line, of which no word is broken that fits into a line. */
export function setCommand(element, command) {
  if (element.textContent === command) return;
  const words = command.split(/(\s+)/);
  element.replaceChildren(...words.map((word, i) => (i % 2 === 0 ? make("span", { class: "word" }, word) : word)));
}

/** Show one of two buttons, and keep the focus if it was on the other. */
export function switchButtons(shown, hidden) {
  const hadFocus = document.activeElement === hidden;
  shown.hidden = false;
  hidden.hidden = true;
  if (hadFocus) shown.focus();
}

export function option(value, text) {
  return make("option", { value }, text);
}

/** Choose a value of a select, also one that is not among its options. */
export function choose(select, value, text) {
  if (![...select.options].some((one) => one.value === value)) select.append(option(value, text));
  select.value = value;
}

const nameOf = (name) => (name.trim() === "" ? "(no name)" : name);

export function short(name, longest = LONGEST_NAME) {
  const letters = [...nameOf(name)];
  return letters.length <= longest ? nameOf(name) : `${letters.slice(0, longest - 1).join("")}…`;
}

/** A name of a column, apart from the direction of the text around it. */
export function nameElement(name) {
  return make("bdi", { class: "name", title: name.length > 24 ? name.slice(0, 500) : null }, nameOf(name));
}

export const thousands = (number) => number.toLocaleString("en-US");

export function counted(number, noun) {
  return `${thousands(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export function percent(share) {
  // As the summary writes it: three digits, and 0% and 100% only where it is exactly so.
  if (share <= 1e-12) return "0%";
  if (Math.abs(share - 1) <= 1e-12) return "100%";
  const value = 100 * share;
  const decimals = value < 1 ? 3 : value < 10 ? 2 : 1;
  const text = value.toFixed(decimals);
  if (Number(text) === 0) return "<0.001%";
  return value < 100 && Number(text) === 100 ? ">99.9%" : `${text}%`;
}

export function duration(seconds) {
  return seconds < 90 ? counted(Math.max(1, Math.round(seconds)), "second") : `${Math.round(seconds / 60)} minutes`;
}

export function timeSoFar(seconds) {
  return seconds < SHORT ? "" : `${duration(seconds)} so far`;
}

export function timeLeft(seconds) {
  return seconds === null || seconds === undefined ? "" : `about ${duration(seconds)} left`;
}

export function showProgress(bar, share) {
  if (share === null || share === undefined) bar.removeAttribute("value");
  else bar.value = share;
}

/** A table with the columns' titles and rows of texts or elements; the first cell of a row is its title. */
export function fillTable(table, titles, rows) {
  const head = make("thead", {}, make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title))));
  const body = rows.map(([first, ...cells]) =>
    make("tr", {}, make("th", { scope: "row" }, first), ...cells.map((cell) => make("td", {}, cell))),
  );
  table.replaceChildren(head, make("tbody", {}, ...body));
}
