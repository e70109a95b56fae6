// What the preview found: figures, columns, groups and sensitive columns.
import { byId, counted, fillTable, make, nameElement, percent, setText, thousands } from "./dom.js";
import { beforeAndAfter, drawGroups } from "./draw.js";

const MOST_SHOWN = 12;
const NO_SENSITIVE =
  "No column is sensitive. k says nothing about what the records of a group share: if a column that is kept, such as a diagnosis, " +
  "has one value in a whole group, that value is disclosed. Give such a column the role Sensitive.";

function figure(name, value, words) {
  const [, number, explanation] = document.querySelector(`#figures [data-figure=${name}]`).children;
  setText(number, value);
  if (words !== undefined) setText(explanation, words);
}

const LOSS = {
  aggregate: "Share of the differences between records that is gone. Less is better.",
  kaim: "How coarse the values are, on average: 0% if unchanged, 100% if all are *. Less is better.",
};
LOSS.generalized = LOSS.disjoint = LOSS.kaim;

const ROWS = {
  aggregate: "Each row of the release is the average of a group of similar records.",
  kaim: "Each row of the release is what a group of similar records has in common.",
};
ROWS.generalized = ROWS.disjoint = ROWS.kaim;

export function showPreview(result, method) {
  showFigures(result, method);
  showColumns(result.columns);
  showGroups(result.groups);
  showSensitive(result.sensitive);
  showUnchanged(result);
  byId("privacy").replaceChildren(...result.privacy.map((sentence) => make("li", {}, sentence)));
}

function showFigures(result, method) {
  figure("groups", thousands(result.n_groups));
  const together = result.level_of ? ` ${result.level_of}` : "";
  const smallest = `Every combination of the quasi-identifiers${together} occurs at least ${counted(result.level, "time")}.`;
  figure("smallest", thousands(result.smallest_group), smallest);
  figure("loss", percent(result.loss), LOSS[method]);
  const meaning = "Share of the records that an intruder who knows all original values of the quasi-identifiers re-identifies, on average.";
  const most = `With k\u00a0=\u00a0${thousands(result.k)}, it is at most ${Number((100 / result.k).toFixed(1))}%.`;
  figure("expected_matches", result.words.expected_matches, `${meaning} ${most}`);
  const sample = result.is_sample
    ? `All figures of the preview are of a sample of ${counted(result.n_records, "row")}; the release is made of all rows, which are more similar to each other: it usually loses less, and far less if they are many. `
    : `Computed on all ${counted(result.n_records, "row")}. `;
  setText(byId("preview-note"), sample + ROWS[method]);
}

function card({ index, name, released, distribution }) {
  const isMissing = distribution.missing?.some((share) => share !== "0%");
  const missing = isMissing ? `Missing: ${distribution.missing[0]} before, ${distribution.missing[1]} after.` : "";
  return make(
    "figure",
    { class: "plot", "data-column": index },
    make("figcaption", {}, nameElement(name), make("span", { class: "note" }, released)),
    beforeAndAfter(name, distribution),
    missing ? make("p", { class: "note" }, missing) : null,
  );
}

function showColumns(columns) {
  const host = byId("before-after");
  const wasOpen = host.querySelector("details")?.open ?? false;
  const cards = columns.map(card);
  const parts = [make("div", { class: "plots" }, ...cards.slice(0, MOST_SHOWN))];
  if (cards.length > MOST_SHOWN) {
    const more = make("div", { class: "plots" }, ...cards.slice(MOST_SHOWN));
    const words = `${counted(cards.length - MOST_SHOWN, "more column")}`;
    parts.push(make("details", { open: wasOpen }, make("summary", {}, words), more));
  }
  host.replaceChildren(...parts);
}

function showGroups(groups) {
  const host = byId("groups");
  if (groups === null || groups.points.length === 0) {
    host.replaceChildren(make("p", { class: "note" }, "There is no picture of these groups."));
    return;
  }
  const isAll = groups.points.length >= groups.n_groups;
  const shown = isAll ? "All groups" : `${thousands(groups.points.length)} of ${counted(groups.n_groups, "group")}`;
  const words = `${shown}, as released. Groups with similar values are near each other; the area of a bubble is the number of records that share the row.`;
  const stage = make("div", { class: "picture" });
  host.replaceChildren(make("p", { class: "note" }, words), stage);
  drawGroups(stage, groups);
}

// Columns that are kept: how many people they single out, and what is assumed about sensitive ones.
function showUnchanged({ singled_out: lines, assumed_unknown: names }) {
  const sentences = lines.map((line, place) => (place === 0 ? `Singled out: ${line}.` : `${line[0].toUpperCase()}${line.slice(1)}.`));
  if (lines.length === 0) sentences.push("No column is kept that an intruder may know.");
  if (names.length > 0) sentences.push(`Assumed, not measured: intruders do not know ${names.join(", ")}.`);
  byId("unchanged").replaceChildren(...sentences.map((sentence) => make("li", {}, sentence)));
}

function showSensitive(sensitive) {
  const host = byId("sensitive");
  if (sensitive.length === 0) {
    host.replaceChildren(make("p", {}, NO_SENSITIVE));
    return;
  }
  const rows = sensitive.map(({ name, homogeneity, diversity, closeness }) => [
    nameElement(name),
    homogeneity,
    thousands(diversity),
    closeness.toFixed(3),
  ]);
  const table = make("table", { class: "measures" });
  fillTable(table, ["Column", "Homogeneity", "Different values in the worst group", "Largest distance from the whole table"], rows);
  const meanings = [
    ["Homogeneity: ", "if all records of a group share one value, it is disclosed for each of them."],
    ["Different values: ", "with at least 2, nobody learns a value for sure."],
    ["Distance: ", "0 if a group reveals no more than the whole table; at most 1."],
    ["Rows: ", "all of these count rows, not people, where people have several."],
  ];
  host.replaceChildren(
    make("div", { class: "box", tabindex: 0, role: "region", "aria-label": "Sensitive columns" }, table),
    make("ul", { class: "note" }, ...meanings.map(([name, words]) => make("li", {}, make("b", {}, name), words))),
  );
}
