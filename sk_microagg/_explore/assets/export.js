// Names of files, the command line that does the same, and the release itself.
import { Job } from "./api.js";
import { byId, make, setCommand, setText, showProgress, switchButtons, timeLeft, timeSoFar } from "./dom.js";

function messages(warnings) {
  return warnings.map((words) => make("p", { class: "message", "data-kind": "warning" }, words));
}

const SCENARIO = ["recipient", "release_model", "threshold", "justification", "reviewed_by", "review_date"];

/** What was written into the form about the scenario; null if nothing was. */
function readScenario() {
  const given = Object.fromEntries(SCENARIO.map((name) => [name, byId(`scenario-${name}`).value.trim()]).filter(([, text]) => text !== ""));
  const isEmpty = Object.keys(given).every((name) => name === "release_model");
  if (given.threshold !== undefined) given.threshold = Number(given.threshold.replace(",", "."));
  return isEmpty ? null : given;
}

export class Export {
  #exists = [];
  #isPossible = false;
  #clock = 0; // shows the time so far

  /** `changed` is called after a change of a user, `settings` returns those to write with. */
  constructor(changed, settings) {
    this.job = new Job("export", {
      running: (event) => this.#run(event),
      done: (result) => this.#done(result, changed),
      failed: (error) => this.#stop(error, changed),
      canceled: () => this.#stop("Canceled. No file was written.", changed),
    });
    for (const id of ["release-name", "report-name", "report-wanted", "card-name", "card-wanted"]) {
      byId(id).addEventListener("input", () => {
        byId("overwrite").checked = false; // consent is to the files that were named
        changed();
      });
    }
    for (const id of ["report-certificate", "scenario", "overwrite"]) byId(id).addEventListener("input", () => changed());
    byId("copy").addEventListener("click", () => this.#copy());
    byId("export-start").addEventListener("click", () => {
      this.#startClock();
      this.job.start(settings());
    });
    byId("export-cancel").addEventListener("click", () => this.job.cancel());
  }

  show({ folder, settings }) {
    setText(byId("folder"), folder);
    byId("release-name").value = settings.release;
    if (settings.report !== null) byId("report-name").value = settings.report;
    byId("report-wanted").checked = settings.report !== null;
    byId("card-name").value = settings.card ?? settings.release.replace(/(_release)?(\.\w+)+$/, "_card.html");
    byId("card-wanted").checked = settings.card !== null;
    byId("report-certificate").value = settings.certificate ?? "";
    byId("overwrite").checked = false;
  }

  read(isKaim) {
    const hasReport = byId("report-wanted").checked;
    const seconds = byId("report-certificate").value;
    return {
      release: byId("release-name").value,
      report: hasReport ? byId("report-name").value : null,
      card: byId("card-wanted").checked ? byId("card-name").value : null,
      scenario: hasReport ? readScenario() : null,
      analysis: hasReport && !isKaim ? byId("analysis").value.split("\n").map((line) => line.trim()).filter(Boolean) : [],
      certificate: hasReport && !isKaim && seconds !== "" ? Number(seconds) : null,
      overwrite: this.#exists.length > 0 && byId("overwrite").checked,
    };
  }

  /** What depends on other settings. */
  update(isKaim) {
    const hasReport = byId("report-wanted").checked;
    byId("report-name").disabled = !hasReport;
    byId("card-name").disabled = !byId("card-wanted").checked;
    for (const field of byId("scenario").querySelectorAll("input, select, textarea")) field.disabled = !hasReport;
    byId("report-certificate").disabled = !hasReport || isKaim;
    setText(byId("report-certificate-reason"), isKaim ? "Not with generalization." : hasReport ? "" : "Only in a report.");
    this.#enable();
  }

  /** The answer of the server to a check of the settings; null while there is none. */
  check(answer) {
    this.#isPossible = answer !== null && answer.error === null;
    if (answer !== null) {
      this.#exists = answer.exists ?? [];
      setCommand(byId("command"), answer.command ?? "");
      byId("copy").disabled = !answer.command;
      byId("export-problem").hidden = answer.error === null;
      setText(byId("export-problem"), answer.error ?? "");
      byId("overwrite-part").hidden = this.#exists.length === 0;
      setText(byId("overwrite-words"), `Overwrite ${this.#exists.join(" and ")}`);
      if (this.#exists.length === 0) byId("overwrite").checked = false;
    }
    this.#enable();
  }

  #enable() {
    const isAllowed = this.#exists.length === 0 || byId("overwrite").checked;
    byId("export-start").disabled = !this.#isPossible || !isAllowed;
  }

  /** The time so far is apart from the state, which screen readers announce. */
  #startClock() {
    const start = performance.now();
    clearInterval(this.#clock);
    this.#clock = setInterval(() => setText(byId("export-time"), timeSoFar((performance.now() - start) / 1000)), 1000);
  }

  #run(event) {
    switchButtons(byId("export-cancel"), byId("export-start"));
    byId("exported").replaceChildren();
    byId("export-progress").hidden = false;
    showProgress(byId("export-progress"), event.share);
    const left = timeLeft(event.seconds_left);
    setText(byId("export-state"), [event.text ?? "writing the release", left].filter(Boolean).join(", "));
  }

  #stop(words, changed) {
    switchButtons(byId("export-start"), byId("export-cancel"));
    byId("export-progress").hidden = true;
    clearInterval(this.#clock);
    setText(byId("export-time"), "");
    setText(byId("export-state"), words);
    byId("overwrite").checked = false;
    changed(); // files may exist now
  }

  #done(result, changed) {
    const files = [result.release, result.report, result.card].filter(Boolean);
    const command = make("code");
    setCommand(command, result.command);
    const facts = result.facts.map(([name, words]) => make("div", {}, make("dt", {}, name), make("dd", {}, words)));
    byId("exported").replaceChildren(
      make("p", { class: "verdict" }, "Written: ", ...files.flatMap((file, i) => [i ? ", " : "", make("bdi", { "data-file": file }, file)])),
      ...(result.report ? [make("p", {}, make("a", { id: "open-report", href: "report", target: "_blank", rel: "noopener" }, "Open the report"))] : []),
      ...messages(result.warnings),
      make("dl", { class: "facts" }, ...facts),
      make("p", { class: "note" }, "Written with:"),
      make("pre", {}, command),
    );
    if (document.activeElement === byId("export-cancel")) byId("exported").focus();
    this.#stop("The release is written.", changed);
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(byId("command").textContent);
      setText(byId("copied"), "Copied.");
    } catch {
      getSelection().selectAllChildren(byId("command"));
      setText(byId("copied"), "Marked: press Ctrl+C to copy it.");
    }
    setTimeout(() => setText(byId("copied"), ""), 4000);
  }
}
