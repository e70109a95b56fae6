// What happens when the page loads, and after each change: check, preview, curve.
import { getTable, Job, openEvents, post } from "./api.js";
import { Certificate } from "./certificate.js";
import { Columns } from "./columns.js";
import { Curve } from "./curve.js";
import { byId, counted, fillTable, make, nameElement, percent, setText, showProgress, switchButtons, thousands, timeLeft } from "./dom.js";
import { Export } from "./export.js";
import { showPreview } from "./results.js";
import { Settings } from "./settings.js";

const DELAY = 300; // milliseconds after a change
const PREVIEWED = ["bar-figures", "preview", "groups-part", "details", "certificate"];
const BROKEN = "The connection to sk-microagg ended, and with it all work. If sk-microagg still runs in the terminal, connect again; else start it there and open its new address.";
const ENDED = "sk-microagg was ended in the terminal. Nothing is left running. Start it again there, and open its new address.";

const state = {
  table: null,
  shown: null, // the preview on the page: its result and settings
  shownKey: "",
  runningKey: "", // of the preview that is computed
  canceledKey: "", // of the preview that the user does not want
  curveKey: "",
  isCurveWhole: false,
  errors: [],
  warnings: [],
  timer: 0,
  nChecks: 0,
  isConnected: false,
};

const columns = new Columns(() => changed());
const settings = new Settings(() => changed());
const curve = new Curve((k) => {
  settings.k = k;
  changed();
});
const certificate = new Certificate(() => state.shown.settings);
const files = new Export(() => changed(), () => readSettings());
const preview = new Job("preview", { running: previewRuns, done: previewDone, failed: previewFailed, canceled: previewCanceled });
const points = new Job("curve", { running: curveRuns, done: curveDone, failed: (error) => curveStops(error), canceled: curveCanceled });
const JOBS = { preview, curve: points, certificate: certificate.job, export: files.job };

/** What was chosen for this table, so that loading the page again keeps it. */
const saved = {
  key: () => `settings of ${state.table.version}`,
  write: () => sessionStorage.setItem(saved.key(), JSON.stringify(readSettings())),
  read: () => JSON.parse(sessionStorage.getItem(saved.key())),
};

function readSettings() {
  const { isKaim } = settings;
  return { version: state.table.version, ...settings.read(), columns: columns.read(isKaim), ...files.read(isKaim) };
}

/** What the preview depends on, and what the curve does. */
function keyOf({ release, report, card, scenario, analysis, certificate: proof, overwrite, shuffle, time_limit: time, ...rest }) {
  return JSON.stringify(rest);
}
const curveKeyOf = ({ k, ...rest }) => keyOf(rest);

function update() {
  const { isKaim } = settings;
  columns.update(isKaim);
  settings.update((role) => columns.has(role));
  files.update(isKaim);
  const isShown = state.shown !== null && state.shownKey === keyOf(readSettings());
  certificate.update(isKaim ? "There is no proof for generalization." : isShown ? "" : "The proof is about the preview: it can start as soon as that is up to date.");
  curve.mark(settings.k);
}

function changed() {
  clearTimeout(state.timer);
  state.nChecks += 1;
  files.check(null);
  update();
  if (settings.problem === null && columns.problem(settings.isKaim) === null) saved.write();
  const current = readSettings();
  const key = keyOf(current);
  const isUpToDate = state.shownKey === key;
  byId("results").setAttribute("aria-busy", !isUpToDate);
  for (const id of PREVIEWED) byId(id).classList.toggle("stale", !isUpToDate);
  byId("curve").classList.toggle("stale", state.curveKey !== curveKeyOf(current));
  if (!isUpToDate || preview.isBusy) {
    if (state.runningKey !== key) preview.cancel();
    points.cancel();
    certificate.clear();
    if (key !== state.canceledKey) setPreviewState("computing…");
  }
  if (state.isConnected) state.timer = setTimeout(check, DELAY);
}

async function check() {
  const number = state.nChecks;
  const current = readSettings();
  let answer;
  try {
    const problem = settings.problem ?? columns.problem(settings.isKaim);
    answer = problem ? { error: problem, command: "", exists: [] } : await post("check", current);
  } catch (error) {
    answer = { error: error.message, command: "", exists: [], status: error.status };
  }
  if (number !== state.nChecks) return;
  files.check(answer);
  if (answer.error) {
    showError(answer.error, answer.status);
    if (state.shownKey === keyOf(current)) return setPreviewState("up to date"); // a name of a file is wrong
    preview.cancel();
    setPreviewState(answer.status === 409 ? "the file has changed" : "not possible with these settings");
    setText(byId("curve-state"), "");
    return;
  }
  state.errors = [];
  showMessages();
  const key = keyOf(current);
  if (state.shownKey === key) {
    setPreviewState("up to date");
    if (state.curveKey !== curveKeyOf(current)) startCurve();
  } else if (key !== state.canceledKey && !(preview.isBusy && state.runningKey === key)) {
    state.runningKey = key;
    preview.start(current);
  }
}

function showError(words, status) {
  const button = status === 409 ? make("button", { type: "button", id: "reload" }, "Read the table again") : null;
  button?.addEventListener("click", reload);
  state.errors = [make("p", { class: "message", "data-kind": "error" }, words, button)];
  showMessages();
}

function showMessages() {
  const warnings = state.errors.length ? [] : state.warnings.map((words) => make("p", { class: "message", "data-kind": "warning" }, words));
  const wanted = [...state.errors, ...warnings];
  const host = byId("messages");
  const same = (one, i) => one.textContent === host.children[i]?.textContent;
  if (wanted.length !== host.children.length || !wanted.every(same)) host.replaceChildren(...wanted);
}

function setPreviewState(words) {
  setText(byId("preview-state"), words);
  byId("preview-state").dataset.state = words.split(" ")[0];
  if (words !== "computing…") {
    setText(byId("preview-text"), "");
    byId("preview-cancel").hidden = true;
    byId("preview-start").hidden = words !== "canceled";
    byId("bar-progress").firstElementChild.style.width = "0";
  }
}

function previewRuns(event) {
  setPreviewState("computing…");
  switchButtons(byId("preview-cancel"), byId("preview-start"));
  setText(byId("preview-text"), [event.text, timeLeft(event.seconds_left)].filter(Boolean).join(", "));
  // It is null in the beginning. A step that does not know its share leaves the bar where it is.
  if (event.share !== undefined) byId("bar-progress").firstElementChild.style.width = `${100 * (event.share ?? 0.05)}%`;
}

function previewDone(result, used) {
  if (keyOf(used) !== keyOf(readSettings())) return; // of settings that have changed meanwhile
  [state.shown, state.shownKey, state.warnings] = [{ result, settings: used }, keyOf(used), result.warnings];
  showPreview(result, used.method);
  showMessages();
  setText(byId("bar-figures"), `k ${thousands(result.k)} · loss ${percent(result.loss)} · expected re-identifications ${result.words.expected_matches}`);
  for (const id of PREVIEWED) byId(id).classList.remove("stale");
  byId("results").setAttribute("aria-busy", false);
  setPreviewState("up to date");
  update();
  if (!state.isCurveWhole || state.curveKey !== curveKeyOf(used)) startCurve();
  else addShownPoint();
}

function previewFailed(error, used, status) {
  if (keyOf(used) !== keyOf(readSettings())) return;
  showError(error, status);
  setPreviewState("failed");
  byId("results").setAttribute("aria-busy", false);
  switchButtons(byId("preview-start"), byId("preview-cancel"));
  setText(byId("curve-state"), "");
}

function previewCanceled() {
  if (state.canceledKey !== keyOf(readSettings())) return; // a new one follows
  switchButtons(byId("preview-start"), byId("preview-cancel"));
  setPreviewState("canceled");
  byId("results").setAttribute("aria-busy", false);
  setText(byId("curve-state"), "");
}

function startCurve() {
  const used = state.shown.settings;
  if (state.curveKey !== curveKeyOf(used)) curve.clear();
  [state.curveKey, state.isCurveWhole] = [curveKeyOf(used), false];
  byId("curve").classList.remove("stale");
  addShownPoint();
  points.start(used);
}

/** The preview is a point of the curve, too. */
function addShownPoint() {
  const { k, loss, expected_matches, words } = state.shown.result;
  if (!curve.has(k)) curve.add({ k, loss, expected_matches, words });
}

function curveRuns(event) {
  switchButtons(byId("curve-cancel"), byId("curve-start"));
  byId("curve-progress").classList.remove("idle");
  showProgress(byId("curve-progress"), event.share);
  setText(byId("curve-state"), timeLeft(event.seconds_left) || event.text || "computing…");
  if (event.point) curve.add(event.point);
}

function curveDone(result, used) {
  if (state.curveKey !== curveKeyOf(used)) return curveStops("");
  for (const point of result.points) curve.add(point);
  state.isCurveWhole = true;
  curveStops("");
  byId("curve-start").hidden = true;
}

function curveCanceled() {
  if (state.shownKey === keyOf(readSettings())) return curveStops("Canceled.");
  state.curveKey = ""; // a new one follows the preview
  curveStops("starts after the preview");
  byId("curve-start").hidden = true;
}

function curveStops(words) {
  switchButtons(byId("curve-start"), byId("curve-cancel"));
  byId("curve-progress").classList.add("idle");
  setText(byId("curve-state"), words);
}

function showTable(table) {
  state.table = table;
  document.title = `${table.name} – sk-microagg`;
  setText(byId("name"), table.name);
  const all = `${counted(table.n_records, "row")}, ${counted(table.columns.length, "column")}.`;
  const sample = ` Previews are computed on a sample of ${counted(table.n_sample, "row")}; the release is made of all rows.`;
  setText(byId("size"), table.n_sample < table.n_records ? all + sample : all);
  byId("rows-part").hidden = table.rows === null;
  if (table.rows !== null) showRows(table);
  table.settings = saved.read() ?? table.settings;
  columns.show(table.columns, table.settings);
  settings.show(table.settings, table.n_records, table.constraints);
  files.show(table);
  curve.show(table.ks);
  byId("bar").hidden = byId("work").hidden = false;
}

function showRows({ columns: all, rows }) {
  const cell = (value) => (value === null ? make("i", { class: "note" }, "missing") : make("bdi", { title: value.length > 24 ? value.slice(0, 500) : null }, value));
  const titles = ["Row", ...all.map((column) => nameElement(column.name))];
  fillTable(byId("rows-table"), titles, rows.map((row, i) => [thousands(i + 1), ...row.map(cell)]));
}

async function reload() {
  try {
    const [table, current] = [await post("reload"), readSettings()];
    const names = (one) => JSON.stringify(one.columns.map((column) => column.name));
    if (names(table) === names(state.table)) table.settings = current; // what was chosen still makes sense
    Object.assign(state, { shown: null, shownKey: "", runningKey: "", canceledKey: "", curveKey: "", isCurveWhole: false, warnings: [] });
    showTable(table);
    changed();
  } catch (error) {
    showError(error.message, error.status);
  }
}

function connect() {
  openEvents({
    open: () => {
      byId("connection").replaceChildren();
      byId("work").disabled = false;
      state.isConnected = true;
      if (state.table !== null) changed();
    },
    event: (event) => JOBS[event.what]?.receive(event),
    broken: (isEnded) => {
      const words = make("p", { class: "message", "data-kind": "error" }, isEnded ? ENDED : BROKEN);
      const again = make("button", { type: "button", id: "reconnect" }, "Connect again");
      again.addEventListener("click", connect);
      if (!isEnded) words.append(again);
      byId("connection").replaceChildren(words);
      byId("work").disabled = true;
      state.isConnected = false;
      clearTimeout(state.timer);
      state.nChecks += 1; // the answer to one that is under way says nothing
      for (const job of Object.values(JOBS)) job.forget();
      state.curveKey = "";
      setPreviewState(isEnded ? "ended in the terminal" : "not connected");
    },
  });
}

byId("preview-cancel").addEventListener("click", () => {
  state.canceledKey = state.runningKey;
  preview.cancel();
});
byId("preview-start").addEventListener("click", () => {
  state.canceledKey = "";
  changed();
});
byId("curve-cancel").addEventListener("click", () => points.cancel());
byId("curve-start").addEventListener("click", () => startCurve());

try {
  showTable(await getTable());
  connect();
} catch (error) {
  setText(byId("name"), "The table cannot be shown");
  setText(byId("size"), error.message);
}
