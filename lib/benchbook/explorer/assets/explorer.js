"use strict";
// The explorer's page: every answer is in answers/ already, as benchbook.explorer.site wrote it, and is chosen and drawn
// here. Scripts, not data: a page that is opened as a file may load no data.
const explorer = (() => {
  // The first four controls choose what is compared; those after them are factors, shown where something varies.
  const [OPERATION, MEASURE, A, B, FACTORS] = [0, 1, 2, 3, 4];
  const PATIENCE = 600;  // how often a missing file is asked for again
  const RUNS = "runs.js";
  const arrived = new Map(), texts = new Map(), unpacked = new Map(), selects = new Map(), places = new Map();
  const parts = {};
  let runs = [], colours = {}, wanted = {}, turn = 0, width = 0, drawnNow = () => {};

  // Make an element of HTML, or of SVG below; a child may be a text.
  const maker = namespace => (name, attributes = {}, ...children) => {
    const made = document.createElementNS(namespace, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const element = maker("http://www.w3.org/1999/xhtml"), svg = maker("http://www.w3.org/2000/svg");

  // Answers may still be being written while the page is open: a missing file is asked for again every second.
  function text(file) {
    if (!texts.has(file)) texts.set(file, new Promise((resolve, reject) => {
      arrived.set(file, resolve);
      const load = left => {
        const script = element("script", { src: `answers/${file}` });
        script.onerror = () => {
          script.remove();
          if (!left) reject(new Error(`answers/${file} is missing`));
          else setTimeout(load, 1000, left - 1);
        };
        document.head.append(script);
      };
      load(PATIENCE);
    }));
    return texts.get(file);
  }

  async function unpack(file) {
    const bytes = Uint8Array.from(atob(await text(file)), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  function answers(file) {
    if (!unpacked.has(file)) unpacked.set(file, unpack(file).then(all => noteClaims(file, all)));
    return unpacked.get(file);
  }

  // Where the comparison of each claim stands, once the file that has it is there.
  function noteClaims(file, all) {
    for (const [id, place] of Object.entries(all.claims ?? {})) {
      const key = `${file.split("/")[0]} ${id}`;
      if (!places.has(key)) places.set(key, { file, all, found: all.answers[place] });
    }
    return all;
  }

  // The answer nearest to what is wanted: each control keeps its value where that can be asked, else it stands at its
  // default, or its first option.
  function ask(all, wanted) {
    let left = all.answers;
    const shown = [];
    all.controls.forEach((control, place) => {
      const options = [...new Set(left.map(one => one.at[place]))].filter(option => option >= 0);
      if (place >= FACTORS) {
        if (options.length < 2) return;
        options.sort((one, other) => one - other);
      }
      const kept = options.find(option => control.options[option].value === wanted[control.name]);
      const chosen = kept ?? (options.includes(control.default) ? control.default : options[0]);
      const choices = options.map(option => control.options[option]);
      shown.push({ ...control, choices, chosen: control.options[chosen].value });
      left = left.filter(one => one.at[place] === chosen);
    });
    return { shown, found: left[0] };
  }

  const called = (all, found, place) => all.controls[place].options[found.at[place]]?.called ?? "";

  // The address of a choice, of which a table's links are made.
  function address(all, found, of = wanted) {
    const values = { study: of.study, comparison: of.comparison, run: of.run };
    all.controls.forEach((control, place) => {
      const option = control.options[found.at[place]];
      if (option) values[control.name] = option.value;
    });
    return `#${new URLSearchParams(values)}`;
  }

  // Show the wanted answer or the nearest one; return false when another has been wanted meanwhile.
  async function show() {
    const mine = ++turn;
    // Read before anything changes: afterwards the browser would have to lay out the page for it.
    width = parts.shown.clientWidth;
    parts.shown.classList.add("bb-waiting");
    // The page opens with the first run and study that have a headline.
    const has = run => run.studies.some(study => study.headline);
    const run = runs.find(one => one.name === wanted.run) ?? runs.find(has) ?? runs[0];
    const study = run.studies.find(one => one.name === wanted.study)
      ?? run.studies.find(one => one.headline) ?? run.studies[0];
    const comparison = study.comparisons.find(one => one.name === wanted.comparison) ?? study.comparisons[0];
    wanted = { ...wanted, run: run.name, study: study.name, comparison: comparison.name };
    let all;
    try {
      all = await answers(comparison.file);
    } catch (error) {
      const advice = "A browser of the last three years shows them, with all files of the folder beside this page.";
      const why = `The answers could not be read: ${error.message}. ${advice}`;
      parts.answer.replaceChildren(element("p", { class: "bb-refused" }, why));
      for (const part of [parts.claims, parts.beside, parts.figure, parts.ranking, parts.settings]) {
        part.replaceChildren();
      }
      parts.shown.classList.remove("bb-waiting");
      return false;
    }
    if (mine !== turn) return false;
    // A study opens with its headline: the claim's own comparison, or the one nearest to it.
    const headline = study.claims.find(claim => claim.id === study.headline);
    if (wanted.operation === undefined && headline) {
      const known = placeOf(run, headline);
      const values = known?.all === all ? Object.fromEntries(new URLSearchParams(address(all, known.found).slice(1))) : {};
      wanted = { ...headline.choice, ...values, ...wanted };
    }
    const { shown, found } = ask(all, wanted);
    const named = listed => listed.map(({ name }) => ({ value: name, called: name }));
    const ofRuns = { name: "run", called: "Run", choices: named(runs), chosen: run.name };
    controls([
      ...(runs.length > 1 ? [ofRuns] : []),
      { name: "study", called: "Study", choices: named(run.studies), chosen: study.name },
      { name: "comparison", called: "Compare", choices: named(study.comparisons), chosen: comparison.name },
      ...shown,
    ]);
    claimsOf(run, study);
    answer(found);
    beside(run, all, found);
    drawnNow = () => draw(all, found);
    drawnNow();
    ranking(all, found);
    settings(all, found);
    parts.shown.classList.remove("bb-waiting");
    return true;
  }

  function controls(shown) {
    const focused = document.activeElement;
    const places = shown.map(({ name, called, choices, chosen }) => {
      if (!selects.has(name)) {
        const select = element("select", { name, id: `choose-${name}` });
        select.addEventListener("change", () => choose(name, select.value));
        selects.set(name, select);
        element("div", { class: "choice" }, element("label", { for: select.id }, called), select);
      }
      const select = selects.get(name);
      const stands = ({ value, called }, place) => value === select[place].value && called === select[place].text;
      if (choices.length !== select.length || !choices.every(stands)) {
        select.replaceChildren(...choices.map(choice => new Option(choice.called, choice.value)));
      }
      select.value = chosen;
      return select.parentElement;
    });
    const standing = [...parts.controls.children];
    if (places.length === standing.length && places.every((place, at) => place === standing[at])) return;
    parts.controls.replaceChildren(...places);
    if (parts.controls.contains(focused)) focused.focus();
  }

  function chosen() {
    const shown = [...parts.controls.querySelectorAll("select")];
    return Object.fromEntries(shown.map(select => [select.name, select.value]));
  }

  async function choose(name, value) {
    // What is kept of a study's choice is not what another paper compares.
    wanted = name === "study" ? { run: wanted.run, study: value } : { ...wanted, ...chosen(), [name]: value };
    // The address may come after what is seen: changing it takes as long as all else.
    if (await show()) setTimeout(() => history.pushState(null, "", `#${new URLSearchParams(chosen())}`));
  }

  function answer({ headline }) {
    const large = element("b", {}, headline.value), between = element("span", {}, headline.between);
    const lines = [element("p", {}, headline.words)];
    if (headline.value) lines.unshift(element("p", { class: "bb-ratio" }, large, " ", between));
    if (headline.open) lines.push(element("p", {}, headline.open));
    if (headline.test) lines.push(element("p", { class: "bb-small" }, headline.test));
    parts.answer.replaceChildren(...lines);
  }

  const placeOf = (run, claim) => places.get(`${runs.indexOf(run)} ${claim.id}`);

  // A claim's line: verdict and counts, the claim, the ratio, the paper's, its size, blocks and machine-days.
  function claimLine(run, study, claim) {
    const known = placeOf(run, claim);
    const comparison = known && study.comparisons.find(one => one.file === known.file);
    const of = known && { run: run.name, study: study.name, comparison: comparison.name };
    const here = claim.here && known ? element("a", { href: address(known.all, known.found, of) }, claim.here) : claim.here;
    const colour = element("span", { class: "bb-verdict-colour", "aria-hidden": "true" });
    colour.style.background = colours[claim.verdict];
    const verdict = element("span", { class: "bb-verdict" }, colour, element("b", {}, claim.verdict), ` ${claim.counts}`);
    const evidence = [
      here && element("span", {}, here, claim.divided ? ` ${claim.divided}` : ""),
      claim.paper,
      claim.size,
      claim.range && `range ${claim.range}`,
      claim.measured,
      claim.place,
    ].filter(Boolean).map(part => element("span", {}, part));
    const why = claim.why ? [element("span", { class: "bb-small" }, claim.why)] : [];
    return element("li", {}, verdict, element("span", { class: "bb-says" }, `${claim.says}.`), ...evidence, ...why);
  }

  // The study's headline, and all its claims behind a fold, which stays as it is while the study does.
  function claimsOf(run, study) {
    const open = parts.claims.querySelector("details")?.open && parts.claims.dataset.study === study.name;
    parts.claims.dataset.study = study.name;
    const listed = claims => element("ul", { class: "bb-claims" }, ...claims.map(claim => claimLine(run, study, claim)));
    const headline = study.claims.filter(claim => claim.id === study.headline);
    const fold = element("details", open ? { open: "" } : {}, element("summary", {}, study.counts), listed(study.claims));
    const lines = headline.length ? [listed(headline)] : [];
    parts.claims.hidden = !study.claims.length;
    const title = element("p", { class: "bb-title" }, study.title);
    const asks = study.asks ? [element("p", {}, study.asks)] : [];
    parts.claims.replaceChildren(title, ...asks, ...lines, fold);
  }

  // The same comparison in the other run, once its answers are there.
  async function beside(run, all, found) {
    const mine = turn;
    parts.beside.replaceChildren();
    for (const other of runs.filter(one => one !== run)) {
      const study = other.studies.find(one => one.name === wanted.study);
      const comparison = study?.comparisons.find(one => one.name === wanted.comparison);
      if (!comparison) continue;
      const theirs = await answers(comparison.file).catch(() => null);
      if (mine !== turn || !theirs) return;
      const same = counterpart(all, found, theirs);
      const words = same?.headline.value ? `${same.headline.value}, ${same.headline.between}` : same?.headline.words;
      parts.beside.replaceChildren(element("p", {}, `In ${other.name}: ${words ?? "not measured"}.`));
    }
  }

  // The one of other answers whose sides and factors are the same, those that do not vary included.
  function counterpart(all, found, theirs) {
    const mine = levels(all, found);
    return theirs.answers.find(other => {
      const its = levels(theirs, other);
      const names = Object.keys({ ...mine, ...its });
      return names.every(name => mine[name] === its[name]);
    });
  }

  // The level of each factor by its name.
  function levels(all, found) {
    const chosen = all.controls.map((control, place) => [control.name, control.options[found.at[place]]?.value]);
    return { ...all.fixed, ...Object.fromEntries(chosen) };
  }

  // A scale from values to pixels, and the values that its axis names.
  function scale(low, high, from, to, log, apart = 55) {
    const [first, last] = log ? [Math.log(low), Math.log(high)] : [low, high];
    const at = value => from + (to - from) * (((log ? Math.log(value) : value) - first) / (last - first || 1));
    const most = Math.max(2, Math.min(8, Math.floor(Math.abs(to - from) / apart)));
    return { at, ticks: ticks(low, high, log, most) };
  }

  function ticks(low, high, log, most) {
    for (const steps of log ? [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 2, 5], [1]] : []) {
      const values = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
        values.push(...steps.map(step => Number((step * 10 ** power).toPrecision(6))));
      }
      const inside = values.filter(value => value >= low && value <= high);
      if (inside.length <= most && inside.length >= 2) return inside;
      const each = Math.ceil(inside.length / most);
      if (steps.length === 1 && each > 1) return inside.filter((_, place) => place % each === 0);
    }
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough);
    const values = [];
    for (let count = Math.ceil(low / step); count * step <= high; count++) {
      values.push(Number((count * step).toPrecision(6)));
    }
    return values;
  }

  const written = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 }).format;
  const markOf = { a: { colour: "var(--drawn-vermilion)" }, b: { colour: "var(--drawn-blue)" } };
  const square = (x, y) => svg("rect", { x: x - 3.5, y: y - 3.5, width: 7, height: 7, fill: markOf.a.colour });
  const circle = (x, y) => svg("circle", { cx: x, cy: y, r: 4, fill: markOf.b.colour });
  const dot = (x, y) => svg("circle", { cx: x, cy: y, r: 3.5, fill: "var(--faint)", "fill-opacity": 0.75 });
  const hollowDot = (x, y) => svg("circle", { cx: x, cy: y, r: 3.5, fill: "none", stroke: "var(--faint)" });
  const dotOf = found => found.noisy ? hollowDot : dot;
  const diamond = (x, y) => svg("path", { d: `M${x - 6} ${y}l6 -6 6 6 -6 6z`, fill: "var(--ink)" });
  const hollow = { fill: "none", stroke: "var(--ink)", "stroke-width": 2 };
  const papers = (x, y) => svg("circle", { cx: x, cy: y, r: 6, ...hollow });
  const line = (x1, y1, x2, y2, stroke = "var(--grid)", width = 1, attributes = {}) =>
    svg("line", { x1, y1, x2, y2, stroke, "stroke-width": width, ...attributes });
  // What a mark says when it is pointed at.
  const saying = (mark, content) => { mark.append(svg("title", {}, content)); return mark; };
  const head = (y, content) => svg("text", { x: 0, y, class: "head" }, content);
  const note = (x, y, content, anchor = "middle") =>
    svg("text", { x, y, "text-anchor": anchor, class: "faint" }, content);

  // What an axis of ratios reaches from and to: at most ten times beyond them where intervals tell nothing.
  function extent(ratios, ends) {
    const least = Math.min(...ratios), most = Math.max(...ratios);
    const [from, to] = [Math.max(Math.min(least, ...ends), least / 10), Math.min(Math.max(most, ...ends), most * 10)];
    const margin = Math.max(to / from, 1.25) ** 0.05;
    return [from / margin, to * margin];
  }
  // What is drawn of an interval; an end is null where it has none.
  const span = ({ low, high }, from, to) => [Math.max(low ?? from, from), Math.min(high ?? to, to)];
  const hasInterval = found => found.low !== null || found.high !== null;

  function draw(all, found) {
    parts.figure.hidden = !found.blocks.length;
    if (parts.figure.hidden) return;
    const across = Math.max(300, Math.min(940, width - 4));
    // Means that are zero or negative have no ratio.
    const top = found.ratio === null ? 14 : 150, height = top + 210;
    const drawing = svg("svg", { viewBox: `0 0 ${across} ${height}`, width: across, height, "aria-hidden": "true" });
    if (found.ratio !== null) drawRatios(drawing, found, across);
    drawBlocks(drawing, all, found, across, top, top + 180);
    const ratioOf = block => block.ratio === null ? "none" : written(block.ratio);
    const blocks = found.blocks.map((block, place) => `block ${place + 1}: ${ratioOf(block)}`);
    const title = [OPERATION, MEASURE].map(place => called(all, found, place)).join(", ");
    const label = `${title}. ${found.headline.words} Ratio of each block: ${blocks.join("; ")}.`;
    parts.figure.replaceChildren(element("div", { role: "img", "aria-label": label }, drawing), legend(all, found));
  }

  function legend(all, found) {
    const entries = [[square, called(all, found, A)], [circle, called(all, found, B)]];
    if (found.ratio !== null) entries.push([dotOf(found), found.noisy ? "ratio of a noisy block" : "ratio of a block"], [diamond, "this ratio, 99 % interval"]);
    if (found.published !== null && found.ratio !== null) entries.push([papers, "the paper's"]);
    const picture = mark => svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, mark(8, 8));
    const items = entries.map(([mark, what]) => element("li", {}, picture(mark), what));
    return element("figcaption", {}, element("ul", { class: "legend" }, ...items));
  }

  function drawRatios(drawing, found, width) {
    drawing.append(head(14, found.blocks.length > 1 ? "Ratio, all blocks and each" : "Ratio"));
    const ratios = found.blocks.map(block => block.ratio).filter(ratio => ratio > 0);
    const shown = [...ratios, found.ratio, 1, found.published].filter(value => value > 0);
    const [from, to] = extent(shown, [found.low, found.high].filter(value => value > 0));
    const x = scale(from, to, 12, width - 12, true);
    for (const tick of x.ticks) {
      drawing.append(line(x.at(tick), 24, x.at(tick), 102), note(x.at(tick), 118, written(tick)));
    }
    drawing.append(line(x.at(1), 24, x.at(1), 102, "var(--ink)"), line(0, 102, width, 102, "var(--faint)"));
    const days = Math.max(...found.blocks.map(block => block.day), 1);
    found.blocks.forEach((block, place) => {
      if (!(block.ratio > 0)) return;
      const mark = dotOf(found)(x.at(block.ratio), 90 - 24 * (block.day / days));
      drawing.append(saying(mark, `block ${place + 1}: ${written(block.ratio)}`));
    });
    if (hasInterval(found)) {
      const [low, high] = span(found, from, to);
      drawing.append(line(x.at(low), 44, x.at(high), 44, "var(--ink)", 2.5));
    }
    drawing.append(diamond(x.at(found.ratio), 44));
    if (found.published > 0) drawing.append(papers(x.at(found.published), 44));
  }

  function drawBlocks(drawing, all, found, width, top, bottom) {
    const { blocks } = found, values = blocks.flatMap(block => [block.a, block.b]);
    const unit = found.unit ? ` (${found.unit})` : "";
    drawing.append(head(top, `Block means: ${called(all, found, MEASURE)}${unit}`));
    let [low, high] = [Math.min(...values), Math.max(...values)];
    // Logarithmic where values differ by several times, so that all of them can be told apart.
    const log = low > 0 && high / low > 3;
    const margin = log ? (high / low) ** 0.06 : (high - low || Math.abs(high) || 1) * 0.08;
    [low, high] = log ? [low / margin, high * margin] : [low - margin, high + margin];
    const y = scale(low, high, bottom - 18, top + 12, log, 28);
    const left = 58, share = place => blocks.length > 1 ? place / (blocks.length - 1) : 0.5;
    const at = place => left + 14 + (width - left - 28) * share(place);
    for (const tick of y.ticks) {
      drawing.append(line(left, y.at(tick), width, y.at(tick)), note(left - 8, y.at(tick) + 4, written(tick), "end"));
    }
    const step = Math.ceil(blocks.length / Math.min(20, Math.floor((width - left) / 26)));
    blocks.forEach((block, place) => {
      if (place && block.day !== blocks[place - 1].day) {
        const between = (at(place - 1) + at(place)) / 2;
        drawing.append(line(between, top + 12, between, bottom - 14, "var(--faint)", 1, { "stroke-dasharray": "2 4" }));
      }
      if (place % step === 0) drawing.append(note(at(place), bottom, String(place + 1)));
    });
    for (const [side, mark] of [["a", square], ["b", circle]]) {
      const path = blocks.map((block, place) => `${place ? "L" : "M"}${at(place)} ${y.at(block[side])}`).join("");
      drawing.append(svg("path", { d: path, fill: "none", stroke: markOf[side].colour, "stroke-opacity": 0.35 }));
      const what = called(all, found, side === "a" ? A : B);
      blocks.forEach((block, place) => {
        const value = `${what}, block ${place + 1}: ${written(block[side])} ${found.unit}`;
        drawing.append(saying(mark(at(place), y.at(block[side])), value));
      });
    }
    const days = new Set(blocks.map(block => block.day)).size;
    const what = days > 1 ? "block; a dotted line separates the machine-days" : "block";
    drawing.append(note((left + width) / 2, bottom + 18, what));
  }

  // An interval in a table's row, on the scale that all its rows share.
  function bar(found, [from, to]) {
    const picture = svg("svg", { viewBox: "0 0 150 20", "aria-hidden": "true", preserveAspectRatio: "none" });
    if (!(found.ratio > 0)) return picture;
    const x = scale(from, to, 4, 146, true);
    picture.append(line(x.at(1), 0, x.at(1), 20, "var(--faint)"));
    if (hasInterval(found)) {
      const [low, high] = span(found, from, to).map(x.at);
      picture.append(line(low, 10, high, 10, "var(--ink)", 2));
    }
    picture.append(svg("rect", { x: x.at(found.ratio) - 2, y: 5, width: 4, height: 10, fill: "var(--drawn-blue)" }));
    return picture;
  }

  function extentOf(answers) {
    const ratios = answers.map(({ ratio }) => ratio), ends = answers.flatMap(({ low, high }) => [low, high]);
    return extent([1, ...ratios.filter(value => value > 0)], ends.filter(value => value > 0));
  }

  function table(caption, heads, rows) {
    const head = element("tr", {}, ...heads.map(name => name ? element("th", { scope: "col" }, name) : element("td")));
    const body = element("tbody", {}, ...rows.map(({ cells, current }) => {
      const row = element("tr", current ? { "aria-current": "true" } : {});
      row.append(...cells.map((cell, place) => element("td", { "data-head": cell === "" ? "" : heads[place] }, cell)));
      return row;
    }));
    const whole = element("table", {}, element("caption", {}, caption), element("thead", {}, head), body);
    return element("div", { class: "bb bb-scroll", tabindex: "0", role: "region", "aria-label": caption }, whole);
  }

  const link = (all, found, words) => element("a", { href: address(all, found) }, words || "–");

  // All sides that were set against this one, at these levels, the smallest mean first.
  function ranking(all, found) {
    const same = other => other.at.every((option, place) => place === A || option === found.at[place]);
    const alike = all.answers.filter(same);
    parts.ranking.hidden = alike.length < 2;
    if (parts.ranking.hidden) return;
    const over = called(all, found, B), shared = extentOf(alike);
    const rows = alike.map(other => ({
      mean: other.mean_a,
      current: other === found,
      cells: [link(all, other, called(all, other, A)), other.shown_a, other.estimate, bar(other, shared)],
    }));
    rows.push({ mean: found.mean_b, cells: [over, found.shown_b, "1", ""] });
    rows.sort((one, other) => (one.mean ?? Infinity) - (other.mean ?? Infinity));
    const measure = called(all, found, MEASURE);
    const heads = ["", `mean of ${measure}`, `times ${over} (99 % interval)`, "the same, drawn"];
    const whole = table("At these levels, the smallest first", heads, rows);
    parts.ranking.replaceChildren(element("h2", {}, "Ranking"), whole);
  }

  // The same two sides at every setting of the other factors, to be sorted and filtered.
  function settings(all, found) {
    const same = other => other.at.slice(0, FACTORS).every((option, place) => option === found.at[place]);
    const alike = all.answers.filter(same);
    const varies = place => new Set(alike.map(other => other.at[place])).size > 1;
    const factors = [...all.controls.keys()].filter(place => place >= FACTORS && varies(place));
    parts.settings.hidden = alike.length < 2;
    if (parts.settings.hidden) return;
    const [a, b] = [A, B].map(place => called(all, found, place)), shared = extentOf(alike);
    // By the factors, as a table of a paper would have them.
    alike.sort((one, other) => factors.map(place => one.at[place] - other.at[place]).find(Boolean) ?? 0);
    const named = factors.map(place => all.controls[place].called);
    const heads = [...named, "ratio (99 % interval)", "the same, drawn", a, b, "blocks"];
    const rows = alike.map(other => ({
      current: other === found,
      cells: [
        ...factors.map(place => called(all, other, place) || "–"), link(all, other, other.estimate),
        bar(other, shared), other.shown_a, other.shown_b, String(other.blocks.length),
      ],
      keys: [
        ...factors.map(place => other.at[place]),
        other.ratio, other.ratio, other.mean_a, other.mean_b, other.blocks.length,
      ],
    }));
    const whole = table(`${a} over ${b}, at all levels that ran: choose one by its ratio`, heads, rows);
    sortable(whole, rows.map(row => row.keys));
    // Open on a wide page, else as it was left.
    const open = parts.settings.querySelector("details")?.open ?? matchMedia("(min-width: 40rem)").matches;
    const summary = element("summary", {}, element("h2", {}, `At other levels (${rows.length})`));
    const fold = element("details", open ? { open: "" } : {}, summary, filter(whole), whole);
    parts.settings.replaceChildren(fold);
  }

  function sortable(whole, keys) {
    const body = whole.querySelector("tbody"), rows = [...body.rows], heads = [...whole.querySelectorAll("th")];
    heads.forEach((head, place) => {
      const button = element("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down < 0 ? "descending" : "ascending");
        const key = row => keys[rows.indexOf(row)][place] ?? Infinity;
        body.append(...[...rows].sort((one, other) => down * (key(one) - key(other))));
      });
    });
  }

  function filter(whole) {
    const input = element("input", { type: "search", id: "filter", placeholder: "words that a row has" });
    const count = element("span", { role: "status" });
    input.addEventListener("input", () => {
      const rows = [...whole.querySelectorAll("tbody tr")];
      const sought = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) row.hidden = !sought.every(word => row.textContent.toLowerCase().includes(word));
      count.textContent = sought.length ? `${rows.filter(row => !row.hidden).length} of ${rows.length}` : "";
    });
    return element("div", { class: "choice filter" }, element("label", { for: input.id }, "Filter"), input, count);
  }

  // Other addresses of this page are those of its headings.
  const inAddress = () => new URLSearchParams(location.hash.slice(1));

  function follow() {
    if (location.hash && !inAddress().has("study")) return Promise.resolve();
    wanted = Object.fromEntries(inAddress());
    return show();
  }

  // Once the first answer stands, the others are loaded and unpacked while the page is idle.
  async function others() {
    const idle = globalThis.requestIdleCallback ?? setTimeout;
    const files = runs.flatMap(run => run.studies).flatMap(study => study.comparisons).map(({ file }) => file);
    for (const file of files) {
      await new Promise(resolve => idle(resolve));
      await answers(file).catch(() => {});
      const run = runs.find(one => one.name === wanted.run), study = run.studies.find(one => one.name === wanted.study);
      if (study.comparisons.some(one => one.file === file)) claimsOf(run, study);
    }
  }

  // The pages of answers about a person's documents, where there are any.
  function linkDocuments(pages) {
    const place = document.getElementById("documents");
    if (!place || !pages.length) return;
    const links = pages.flatMap(({ name, href }) => [" ", element("a", { href }, name)]);
    place.append(element("span", {}, " Measured:", ...links));
  }

  return {
    take: (file, packed) => arrived.get(file)(packed),
    begin: listed => arrived.get(RUNS)(listed),
    ask,
    answers,
    choose,
    async start(place) {
      parts.controls = element("div", { class: "bb-controls" });
      parts.claims = element("section", { class: "bb bb-of-study", "aria-label": "The paper's claims" });
      parts.answer = element("div", { class: "bb bb-answer", role: "status" });
      parts.beside = element("div", { class: "bb bb-beside", role: "status" });
      parts.figure = element("figure", { class: "bb bb-figure" });
      parts.ranking = element("section", { class: "bb" });
      parts.settings = element("section", { class: "bb" });
      const { answer, beside, figure, ranking, settings } = parts;
      parts.shown = element("div", {}, answer, beside, figure, ranking, settings);
      const reading = "Reading the results: benchbook explore writes them in some seconds.";
      place.replaceChildren(element("p", { class: "bb", role: "status" }, reading));
      try {
        const listed = await text(RUNS);
        ({ runs, colours } = listed);
        linkDocuments(listed.documents);
      } catch (error) {
        place.replaceChildren(element("p", { class: "bb bb-refused", role: "alert" }, `${error.message}.`));
        return;
      }
      place.replaceChildren(parts.claims, parts.controls, parts.shown);
      addEventListener("hashchange", follow);
      addEventListener("resize", () => {
        width = parts.shown.clientWidth;
        drawnNow();
      });
      await (inAddress().has("study") ? follow() : show());
      others();
    },
  };
})();
