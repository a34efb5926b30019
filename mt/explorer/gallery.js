"use strict";
// Shows records: the list of a run's sentences, and the drawings of the one that was chosen, of one run or of several side
// by side. First the state, which the address holds; then one translation; then the list; then the page.

// The state of the page, as the part of its address after #. A page within another (a notebook's) has no address.

const USUAL = {n: "1", run: "0", beside: "", view: "", parts: "words", sort: "n", find: "", by: "", min: "", max: "", page: "0"};

function readState() {
  const given = location.protocol === "about:" ? [] : new URLSearchParams(location.hash.slice(1));
  return {...USUAL, ...Object.fromEntries(given)};
}

function writeState(state) {
  if (location.protocol === "about:") return;
  const changed = Object.entries(state).filter(([name, value]) => value !== (USUAL[name] ?? "") && value !== undefined);
  const address = `#${new URLSearchParams(changed)}`;
  if (address !== (location.hash || "#")) location.replace(address);
}

// One translation: its words, its drawing, what is said of a word, and its files.

class Detail {
  // actions: what a live page does with words, {choose(alignment, j, piece, id), force(alignment, i, j)}; else nothing.
  constructor(name, record, state, actions = {}) {
    this.record = record;
    this.actions = actions;
    this.alignment = new Alignment(record, state.parts !== "pieces");
    this.pinned = null;
    this.said = html("div", {class: "said", role: "status"});
    const drawings = drawingsOf(this.alignment);
    const chosen = drawings[state.view] ? state.view : Object.keys(drawings)[0];
    this.drawing = chosen ? drawings[chosen](this.alignment) : null;
    this.words = {source: [], target: []};
    const file = name.replace(/[^\p{L}\p{N}.-]+/gu, "_") || "alignment";
    this.element = html("section", {class: "detail", "aria-label": name || "translation"},
      name ? html("h2", {}, html("bdi", {}, name)) : null,
      this.#side("source"), this.#side("target"),
      ...(record.references ?? []).map(text => labelledLine("reference", text)),
      html("dl", {class: "facts"}, ...definitions(Object.entries(factsOf(record))
        .map(([fact, value]) => [MEANING[fact][0], shownNumber(value)]))),
      this.words.target.some(word => word.classList.contains("unsure")) ? legendOfUnsure() : null,
      this.said, this.#player(),
      this.drawing ? html("div", {class: "wide canvas"}, this.drawing)
        : html("p", {class: "none"}, record.text ? "no alignment: nothing was attended to, or it was not kept" : "an empty translation"),
      this.drawing && this.alignment.gold ? legend() : null,
      this.drawing ? html("details", {class: "table"}, html("summary", {}, "as a table"), tableOf(this.alignment)) : null,
      this.drawing ? this.#exports(file) : null);
    this.drawing?.addEventListener("pointerover", event => this.#over(event.target.dataset));
    this.drawing?.addEventListener("pointerleave", () => { if (this.pinned) this.mark(this.pinned); });
    this.#say();
  }

  // The words of a side: one of them is in the order of Tab, and arrows lead to the others.
  #side(side) {
    const parts = this.alignment[side];
    const plain = side === "source" && this.alignment.onBackdrop;
    const text = side === "source" ? this.record.source ?? "" : this.record.text;
    if (plain || !parts.length) return labelledLine(side === "source" ? "source" : "translation", text);
    const direction = runsRightToLeft(parts.map(part => part.label).join(" ")) ? "rtl" : "ltr";
    const line = html("p", {class: `line ${side}`, dir: direction, role: "toolbar",
      "aria-label": `words of the ${side === "source" ? "source" : "translation"}`});
    parts.forEach((part, index) => {
      if (part.blank) line.append(" ");
      const unsure = side === "target" && this.alignment.unsure(index);
      const word = html("button", {
        type: "button", class: `word${part.end ? " end" : ""}${unsure ? " unsure" : ""}`, tabindex: index ? -1 : 0, "data-index": index,
        title: part.end ? "end of the sentence" : unsure ? `unsure: ${percent(this.alignment.certainty(index))}` : null,
        draggable: side === "source" && this.actions.force ? "true" : null,
        onpointerenter: () => this.#point(side, index), onfocus: () => this.mark({side, index}), onclick: () => this.#pin(side, index),
      }, html("bdi", {}, part.label));
      if (this.actions.force) this.#draggable(word, side, index);
      this.words[side].push(word);
      line.append(word);
    });
    line.addEventListener("keydown", event => rove(event, this.words[side], direction === "rtl"));
    return html("div", {class: "side"}, html("span", {class: "label"}, side === "source" ? "source" : "translation"), line);
  }

  // A source word that is dropped on a target word is where that step has to look. By keys: Enter on both.
  #draggable(word, side, index) {
    const carry = event => { this.carried = index; event.dataTransfer.setData("text/plain", `${index}`); };
    const drop = event => { event.preventDefault(); this.actions.force(this.alignment, this.carried, index); };
    word.addEventListener(side === "source" ? "dragstart" : "drop", side === "source" ? carry : drop);
    if (side === "target") word.addEventListener("dragover", event => event.preventDefault());
  }

  // What is said of a word stays until another one is pointed at, and until its own click where it is pinned.
  #point(side, index) {
    if (!this.pinned) this.mark({side, index});
  }

  #pin(side, index) {
    const carried = this.pinned?.side === "source" && side === "target" ? this.pinned.index : null;
    if (this.actions.force && carried !== null) { this.actions.force(this.alignment, carried, index); return; }
    const again = this.pinned?.side === side && this.pinned.index === index;
    this.pinned = again ? null : {side, index};
    this.words.source.concat(this.words.target).forEach(word => word.removeAttribute("aria-pressed"));
    if (!again) this.words[side][index].setAttribute("aria-pressed", "true");
    this.mark(this.pinned);
  }

  #over({i, j}) {
    if (j !== undefined) this.mark({side: "target", index: Number(j)}, i === undefined ? null : Number(i));
    else if (i !== undefined) this.mark({side: "source", index: Number(i)});
  }

  // Marks a word and what it is linked to, on both sides and in the drawing; none of null.
  mark(word, column = null) {
    const {weights} = this.alignment;
    const share = (side, index) => !word ? 0 : side === word.side ? Number(index === word.index)
      : side === "source" ? weights[word.index][index] : weights[index][word.index];
    for (const side of ["source", "target"])
      this.words[side].forEach((button, index) => {
        const strength = share(side, index);
        button.classList.toggle("on", Boolean(word) && side === word.side && index === word.index);
        button.classList.toggle("linked", Boolean(word) && side !== word.side && strength >= 0.05);
        button.style.setProperty("--share", `${Math.round(100 * Math.min(1, strength))}%`);
      });
    this.drawing?.classList.toggle("marking", Boolean(word));
    this.drawing?.querySelectorAll("[data-i], [data-j]").forEach(node => {
      const own = word && node.dataset[word.side === "source" ? "i" : "j"] === `${word.index}`;
      const linked = word && !node.classList.contains("cell") && node.dataset.i !== undefined !== (node.dataset.j !== undefined)
        && share(node.dataset.j === undefined ? "source" : "target", Number(node.dataset.j ?? node.dataset.i)) >= 0.2;
      node.classList.toggle("on", Boolean(own || linked));
    });
    this.#say(word, column);
  }

  #say(word = null, column = null) {
    if (!word) {
      const hint = "Point at a word, or move to it by Tab and arrows. A click pins it.";
      this.said.replaceChildren(html("p", {class: "hint"}, this.drawing ? hint : ""));
      return;
    }
    const {alignment} = this;
    const sentences = alignment.sentence(word.side, word.index);
    const weight = column === null ? null : alignment.weights[word.index][column].toFixed(3);
    if (weight !== null) sentences.unshift(`weight ${weight} on ${alignment.nameOf("source", column)}`);
    const others = word.side === "target" ? alignment.runnersUp(word.index) : [];
    const list = others.length ? html("ol", {class: "runners", "aria-label": "what could have stood here"},
      ...others.map(runner => this.#runner(word.index, ...runner))) : null;
    const hint = (this.pinned ? "Pinned; another click on the word lets it go." : "A click on the word pins this.") +
      (list && this.actions.choose ? " A click on an alternative takes it." : "");
    this.said.replaceChildren(html("p", {dir: "ltr"}, sentences.join("; ")), ...(list ? [list] : []), html("p", {class: "hint"}, hint));
  }

  #runner(j, piece, probability, id) {
    const shown = [html("bdi", {}, piece), html("span", {class: "share"}, ` ${percent(probability)}`)];
    const bar = html("meter", {value: probability, min: 0, max: 1, "aria-hidden": "true"});
    if (!this.actions.choose) return html("li", {}, ...shown, bar);
    const taken = html("span", {}, ...shown);
    return html("li", {}, button(taken, () => this.actions.choose(this.alignment, j, piece, id)), bar);
  }

  // Plays reads and writes at the pace of reading; the slider does the same by hand.
  #player() {
    const {alignment} = this;
    if (!alignment.delays || !this.drawing) return null;
    const sound = alignment.timed;
    const end = sound ? Math.ceil(1000 * alignment.onBackdrop.seconds) : alignment.source.length;
    const slider = html("input", {type: "range", min: 0, max: end, value: end,
      "aria-label": sound ? "milliseconds read" : "source words read"});
    const play = button("▶ play", () => this.timer ? pause() : begin(), {"aria-label": "play reads and writes"});
    const show = () => this.#readUpTo(Number(slider.value));
    const pause = () => { clearInterval(this.timer); this.timer = null; play.textContent = "▶ play"; };
    slider.addEventListener("input", show);
    const begin = () => {
      if (Number(slider.value) >= end) slider.value = 0;
      play.textContent = "⏸ pause";
      show();
      this.timer = setInterval(() => {
        slider.value = Number(slider.value) + (sound ? 50 : 1);
        show();
        if (Number(slider.value) >= end || !this.element.isConnected) pause();
      }, sound ? 50 : READING_PACE);
    };
    return html("div", {class: "player"}, play, slider);
  }

  #readUpTo(read) {
    const {delays, record, target, timed, onBackdrop, source} = this.alignment;
    const columns = timed ? source.length * read / 1000 / onBackdrop.seconds : read;
    const written = target.map((part, j) => timed ? record.words_read[part.tokens.at(-1)] <= read : delays[j] <= read);
    this.drawing.querySelectorAll("[data-i], [data-j]").forEach(({dataset: {i, j}, classList}) =>
      classList.toggle("later", j === undefined ? Number(i) >= columns : !written[j]));
    this.words.target.forEach((word, j) => word.classList.toggle("later", !written[j]));
    this.words.source.forEach((word, i) => word.classList.toggle("later", i >= columns));
  }

  #exports(file) {
    return html("div", {class: "exports", role: "group", "aria-label": "save as"}, html("span", {class: "label"}, "save as"),
      button("PNG", async () => save(await asPng(this.drawing), `${file}.png`)),
      button("SVG", () => save(standalone(this.drawing), `${file}.svg`, "image/svg+xml")),
      button("Pharaoh", () => save(`${this.record.links}\n`, `${file}.pharaoh`)),
      button("JSON", () => save(`${JSON.stringify(this.record)}\n`, `${file}.json`, "application/json")));
  }
}

const READING_PACE = 250; // milliseconds for each word: 240 words a minute

// Arrows move within a group of which one element is in the order of Tab.
function rove(event, elements, rightToLeft = false) {
  const steps = {ArrowRight: rightToLeft ? -1 : 1, ArrowLeft: rightToLeft ? 1 : -1, ArrowDown: 1, ArrowUp: -1};
  const here = elements.indexOf(document.activeElement);
  const there = {Home: 0, End: elements.length - 1}[event.key] ?? here + (steps[event.key] ?? NaN);
  if (here < 0 || !elements[there]) return;
  event.preventDefault();
  elements[here].tabIndex = -1;
  elements[there].tabIndex = 0;
  elements[there].focus();
}

function labelledLine(label, text) {
  return html("div", {class: "side"}, html("span", {class: "label"}, label), html("p", {class: "line", dir: "auto"}, text));
}

function legendOfUnsure() {
  return html("p", {class: "hint"}, html("span", {class: "unsure"}, "underlined"), `: the model is less than ${percent(UNSURE)} sure`);
}

function legend() {
  const mark = verdict => svg("svg", {width: 16, height: 16, "aria-hidden": "true"}, verdictMark(verdict, 8, 8));
  const meanings = {hit: "gold link, found", miss: "gold link, missed", false: "link that is not gold"};
  return html("ul", {class: "legend"}, ...Object.entries(meanings).map(([verdict, text]) => html("li", {}, mark(verdict), text)));
}

// What the list tells of a sentence: a number each, under a heading with its meaning.
const MEANING = {
  n: ["no.", "place in the split"],
  length: ["length", "source words, or seconds"],
  chrf: ["chrF", "of this sentence, against its best reference"],
  aer: ["AER", "of this sentence in percent, by forced decoding of its reference; lower is better"],
  confidence: ["confidence", "as calibrated; else the geometric mean of the tokens' probabilities"],
  score: ["log-prob.", "by which the search ranks, over its length penalty"],
  dal: ["delay", "mean of source words, or milliseconds, read when a token was written"],
};

function factsOf(record, place) {
  const facts = place === undefined ? {} : {n: place + 1};
  const units = new Set((record.source_units ?? []).filter(unit => unit !== null));
  facts.length = record.backdrop?.kind === "sound" ? record.backdrop.seconds : record.backdrop ? null : units.size;
  facts.chrf = record.scores?.chrf;
  facts.aer = record.aer;
  const known = (record.probabilities ?? []).filter(one => one !== null && one > 0);
  facts.confidence = record.confidence
    ?? (known.length ? Math.exp(known.reduce((sum, one) => sum + Math.log(one), 0) / known.length) : undefined);
  facts.score = record.score;
  if (record.words_read?.length) facts.dal = record.words_read.reduce((sum, one) => sum + one, 0) / record.words_read.length;
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => Number.isFinite(value)));
}

const shownNumber = value => Number.isInteger(value) ? `${value}` : value?.toFixed(Math.abs(value) < 10 ? 2 : 1) ?? "";

// The list: sorted, filtered, a page at a time.

const PER_PAGE = 40;

class List {
  constructor(records, state, changed) {
    this.records = records;
    this.facts = records.map((record, place) => attempt(() => factsOf(record, place), () => ({n: place + 1})));
    this.columns = Object.keys(MEANING).filter(name => this.facts.some(facts => facts[name] !== undefined));
    this.state = state;
    this.changed = changed;
    this.element = html("section", {class: "list", "aria-label": "sentences"});
    this.texts = records.map(record => [record.source, record.text, ...(record.references ?? [])].join("\n").toLowerCase());
    this.count = html("p", {role: "status", class: "count"});
    this.body = html("tbody");
    this.heads = this.columns.map(name => html("th", {scope: "col", title: MEANING[name][1]},
      button(MEANING[name][0], () => this.#sort(name))));
    const head = html("tr", {}, ...this.heads, html("th", {scope: "col"}, "source and translation"));
    this.element.append(this.#filters(), this.count, html("div", {class: "wide"},
      html("table", {}, html("thead", {}, head), this.body)), this.#pages());
    this.show();
  }

  #filters() {
    const set = (name, event) => this.#set({[name]: event.target.value, page: "0"});
    const field = (label, name, attributes) => html("label", {}, label, " ",
      html("input", {value: this.state[name], oninput: event => set(name, event), ...attributes}));
    const choice = html("select", {"aria-label": "number", onchange: event => set("by", event)}, html("option", {value: ""}, "any"),
      ...this.columns.map(name => html("option", {value: name, selected: this.state.by === name}, MEANING[name][0])));
    return html("search", {class: "filters"}, field("words", "find", {type: "search"}), html("label", {}, "number ", choice),
      field("from", "min", {type: "number", step: "any"}), field("to", "max", {type: "number", step: "any"}));
  }

  #pages() {
    const turn = by => this.#set({page: `${Number(this.state.page) + by}`});
    this.before = button("previous page", () => turn(-1));
    this.after = button("next page", () => turn(1));
    return html("nav", {class: "pages", "aria-label": "pages of the list"}, this.before, this.after);
  }

  // A click sorts, the next one the other way round; what is not known comes last.
  #sort(name) {
    const falling = this.state.sort === name || name !== "n" && this.state.sort !== `-${name}`;
    this.#set({sort: falling ? `-${name}` : name, page: "0"});
  }

  #set(changes) {
    Object.assign(this.state, changes);
    this.show();
    this.changed();
  }

  // The places of the sentences that pass the filters, in order.
  places() {
    const words = this.state.find.toLowerCase().split(/\s+/).filter(Boolean);
    const {by, min, max} = this.state;
    const passes = place => words.every(word => this.texts[place].includes(word)) && (!by || inRange(this.facts[place][by], min, max));
    const name = this.state.sort.replace(/^-/, "");
    const sign = this.state.sort.startsWith("-") ? -1 : 1;
    const key = place => this.facts[place][name];
    return this.records.map((_, place) => place).filter(passes).sort((a, b) =>
      (key(a) === undefined) - (key(b) === undefined) || sign * (key(a) - key(b)) || a - b);
  }

  show() {
    const places = this.places();
    const last = Math.max(0, Math.ceil(places.length / PER_PAGE) - 1);
    const page = Math.max(0, Math.min(last, Number(this.state.page) || 0));
    this.state.page = `${page}`;
    const shown = places.slice(page * PER_PAGE, (page + 1) * PER_PAGE);
    this.count.textContent = places.length ? `${page * PER_PAGE + 1} to ${page * PER_PAGE + shown.length} of ${places.length} sentences` +
      (places.length < this.records.length ? `, ${this.records.length} in all` : "") : "no sentence passes these filters";
    this.before.disabled = page === 0;
    this.after.disabled = page === last;
    this.columns.forEach((name, place) => this.heads[place].setAttribute("aria-sort",
      this.state.sort === name ? "ascending" : this.state.sort === `-${name}` ? "descending" : "none"));
    this.body.replaceChildren(...shown.map(place => this.#row(place)));
  }

  #row(place) {
    const record = this.records[place];
    const number = `${place + 1}`;
    const open = () => this.#set({n: number});
    const opener = button(number, open, {class: "open", "aria-label": `sentence ${number}`});
    const cells = this.columns.map(name => html("td", {}, name === "n" ? opener : shownNumber(this.facts[place][name])));
    const texts = [record.source ?? "", record.text].map(text => html("div", {dir: "auto"}, shortened(text, 120)));
    const current = this.state.n === number ? "true" : null;
    return html("tr", {"aria-current": current, onclick: event => event.target.closest("button") || open()},
      ...cells, html("td", {class: "texts"}, ...texts));
  }
}

const inRange = (value, min, max) => value !== undefined && (min === "" || value >= Number(min)) && (max === "" || value <= Number(max));

// The page of a gallery: list, choices, and the drawings.

class Gallery {
  constructor(runs) {
    this.runs = runs.map(run => ({...run, records: run.records.map(withTexts)}));
    this.state = readState();
    if (runs.length > 1 && !new URLSearchParams(location.hash.slice(1)).has("beside")) this.state.beside = "all";
    this.details = html("div", {class: "details"});
    this.choices = html("div", {class: "choices"});
    this.notes = html("div", {class: "notes"});
    this.element = html("div", {class: "gallery"});
    this.build();
    addEventListener("hashchange", () => { this.state = {...this.state, ...readState()}; this.build(); });
  }

  build() {
    const run = this.runs[Number(this.state.run)] ?? this.runs[0];
    this.list = run.records.length > 1 ? new List(run.records, this.state, () => this.show()) : null;
    this.element.replaceChildren(...(this.list ? [this.list.element] : []),
      html("div", {class: "chosen"}, this.choices, this.details, this.notes));
    this.notes.replaceChildren(...(run.notes ?? []).map(note => html("p", {}, note)));
    this.show();
  }

  show() {
    const chosen = Number(this.state.run) in this.runs ? Number(this.state.run) : 0;
    const numbers = this.runs.map((_, number) => number);
    const beside = this.state.beside === "all" ? numbers : numbers.filter(number => `${number}` === this.state.beside);
    const place = Math.max(0, Math.min(this.runs[chosen].records.length, Number(this.state.n) || 1) - 1);
    const shown = [chosen, ...beside.filter(number => number !== chosen)].filter(number => this.runs[number].records[place]);
    this.#choose(place, chosen, this.runs[chosen].records[place]);
    this.details.replaceChildren(...shown.map(number => drawn(this.runs.length > 1 ? this.runs[number].name : "",
      this.runs[number].records[place], this.state)));
    writeState(this.state);
  }

  #choose(place, chosen, record) {
    const focused = document.activeElement?.dataset?.choice;
    const choices = choicesOf(record, this.state, () => this.show());
    if (this.runs.length > 1) {
      const named = this.runs.map((run, number) => [`${number}`, run.name]);
      choices.unshift(select("run", named, `${chosen}`, value => { this.state.run = value; this.build(); }),
        select("beside it", [["", "nothing"], ["all", "all others"], ...named], this.state.beside,
          value => { this.state.beside = value; this.show(); }));
    }
    if (this.list) choices.unshift(...this.#neighbours(place));
    this.choices.replaceChildren(...choices);
    if (focused) this.choices.querySelector(`[data-choice="${focused}"]`)?.focus();
  }

  #neighbours(place) {
    const places = this.list.places();
    const here = places.indexOf(place);
    const go = there => {
      Object.assign(this.state, {n: `${places[there] + 1}`, page: `${Math.floor(there / PER_PAGE)}`});
      this.list.show();
      this.show();
    };
    const step = (name, there) => button(name, () => go(there), {"data-choice": name, disabled: places[there] === undefined});
    return [html("strong", {}, `sentence ${place + 1}`), step("previous", here - 1), step("next", here + 1)];
  }
}

// A record of another program may have a number where a text stands, or lack what a drawing needs: the rest of the page is
// shown all the same.
function withTexts(record) {
  const references = Array.isArray(record?.references) ? record.references.map(String) : [];
  return {...record, text: String(record?.text ?? ""), source: String(record?.source ?? ""), references};
}

function attempt(run, otherwise) {
  try { return run(); } catch (error) { return otherwise(error); }
}

const drawn = (...given) => attempt(() => new Detail(...given).element, error => html("section", {class: "detail"},
  html("h2", {}, given[0]), html("p", {class: "none"}, `this record cannot be drawn (${error.message})`)));

function select(label, options, value, changed) {
  return html("label", {}, label, " ",
    html("select", {"data-choice": label, "aria-label": label, onchange: event => changed(event.target.value)},
    ...options.map(([key, name]) => html("option", {value: key, selected: key === value}, name))));
}

// What is drawn of a record, and in which parts.
function choicesOf(record, state, changed) {
  const drawings = attempt(() => Object.keys(drawingsOf(new Alignment(record, true))), () => []);
  const set = (name, value) => { state[name] = value; changed(); };
  const choices = [];
  if (drawings.length > 1) choices.push(select("drawn as", drawings.map(name => [name, name]),
    drawings.includes(state.view) ? state.view : drawings[0], value => set("view", value)));
  if (drawings.length) choices.push(select("of", [["words", "words"], ["pieces", "pieces"]], state.parts, value => set("parts", value)));
  return choices;
}

// A table of numbers that stands in the page is sorted by a click on a heading; cells that are not known stay last.
function makeSortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const unknown = value => value === "-" || value === "nan";
  const compare = (a, b, sign) => unknown(a) - unknown(b) || sign * (Number(a) - Number(b) || 0) || sign * a.localeCompare(b);
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const sign = head.getAttribute("aria-sort") === "descending" ? 1 : -1;
    heads.forEach(other => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    body.append(...[...body.rows].sort((a, b) => compare(key(a, column), key(b, column), sign)));
  }));
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
const DATA = JSON.parse(document.getElementById("data").textContent);
if (!DATA.live && DATA.runs.some(run => run.records.length))
  document.getElementById("explorer").replaceChildren(new Gallery(DATA.runs).element);
