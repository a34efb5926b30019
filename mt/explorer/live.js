"use strict";
// Asks a server for translations: as one types, with alternatives that were taken, attention that was forced, terms, the
// beam as a tree, sounds and pictures. First the requests, then the tree, then the panel. docs/serving.md has the routes.

// Requests.

let KEY = "";

async function ask(path, body) {
  const headers = {"Content-Type": "application/json", ...(KEY ? {Authorization: `Bearer ${KEY}`} : {})};
  const answer = await fetch(path, body ? {method: "POST", headers, body: JSON.stringify(body)} : {headers});
  const content = await answer.json().catch(() => ({}));
  if (answer.status === 401) document.querySelector(".key").hidden = false;
  if (!answer.ok) throw new Error(content.error ?? `the server answers ${answer.status}`);
  return content;
}

function socketTo(path, first, {message, failed}) {
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
  const opened = new Promise(done => socket.addEventListener("open", done));
  const send = content => opened.then(() => socket.send(content instanceof ArrayBuffer ? content : JSON.stringify(content)));
  socket.addEventListener("message", event => {
    const content = JSON.parse(event.data);
    socket.meant = Boolean(content.error); // after which the server closes
    if (content.error) failed(content.error);
    else message(content);
  });
  socket.addEventListener("close", () => { if (!socket.meant) failed("the connection was closed"); });
  send(KEY ? {...first, key: KEY} : first);
  return {send, close() { socket.meant = true; socket.close(); }};
}

const base64 = blob => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.addEventListener("load", () => done(reader.result.slice(reader.result.indexOf(",") + 1)));
  reader.addEventListener("error", () => failed(reader.error));
  reader.readAsDataURL(blob);
});

// The samples of the microphone at a rate, as int16, as they come; returns what stops it. Browsers resample.
async function listen(rate, heard) {
  const stream = await navigator.mediaDevices.getUserMedia({audio: {channelCount: 1}});
  const context = new AudioContext({sampleRate: rate});
  await context.audioWorklet.addModule("listen.js");
  const node = new AudioWorkletNode(context, "listening");
  node.port.addEventListener("message", ({data}) => heard(data));
  node.port.start();
  context.createMediaStreamSource(stream).connect(node);
  node.connect(context.destination);
  return () => { stream.getTracks().forEach(track => track.stop()); context.close(); };
}

// A button that begins to listen, and ends it. begun: before the first samples; refused: with a sentence.
function listener(names, rate, {begun, heard, ended, refused}) {
  let stop = null;
  const own = button(names[0], async () => {
    if (stop) {
      stop = stop();
      own.textContent = names[0];
      ended();
      return;
    }
    try {
      begun?.();
      stop = await listen(rate, heard);
      own.textContent = names[1];
    } catch (error) { refused(`the microphone cannot be used (${error.message})`); }
  });
  return own;
}

// A WAV file of int16 samples.
function wavOf(samples, rate) {
  const head = new DataView(new ArrayBuffer(44));
  const bytes = samples.reduce((sum, part) => sum + part.byteLength, 0);
  [..."RIFF____WAVEfmt ____".replaceAll("_", "\0"), ..."\x01\0\x01\0"]
    .forEach((letter, place) => head.setUint8(place, letter.charCodeAt(0)));
  [[4, 36 + bytes], [16, 16], [24, rate], [28, 2 * rate], [40, bytes]]
    .forEach(([place, value]) => head.setUint32(place, value, true));
  [[20, 1], [22, 1], [32, 2], [34, 16]].forEach(([place, value]) => head.setUint16(place, value, true));
  [..."data"].forEach((letter, place) => head.setUint8(36 + place, letter.charCodeAt(0)));
  return new Blob([head.buffer, ...samples], {type: "audio/wav"});
}

// The beam as a tree: from the left to the right a token each; branches that were dropped end in a cross.

function treeOf(nodes, everything) {
  const children = nodes.map(() => []);
  nodes.forEach(([parent], place) => { if (parent >= 0) children[parent].push(place); });
  const shown = place => everything || nodes[place][4] !== "dropped" || children[place].length > 0;
  const places = [];
  let rows = 0;
  const pieces = nodes.map(([, token]) => token);
  const named = place => nodes[place][1] && readable(nodes[place][1], pieces);
  const visit = (place, depth) => {
    const below = children[place].filter(shown);
    below.forEach(child => visit(child, depth + 1));
    const rowsBelow = below.map(child => places[child].row);
    places[place] = {depth, row: below.length ? (rowsBelow[0] + rowsBelow.at(-1)) / 2 : rows++};
  };
  visit(0, 0);
  const depth = Math.max(...places.filter(Boolean).map(place => place.depth));
  const [across, down] = [92, 24];
  const drawing = frame((depth + 2) * across, rows * down + 2 * GAP,
    `the beam: ${nodes.length - 1} extensions; the list below says the same`);
  drawing.classList.add("tree");
  const at = place => [GAP + places[place].depth * across, GAP + (places[place].row + 0.5) * down];
  nodes.forEach(([parent, , logProb, score, state], place) => {
    if (!places[place]) return;
    const [x, y] = at(place);
    const title = svg("title", {},
      `${named(place) || "the beginning"}: ${STATES[state]}; log-probability ${logProb.toFixed(2)}, score ${score.toFixed(2)}`);
    if (parent >= 0) {
      const [left, above] = at(parent);
      const from = left + Math.min(across - 24, widthOf(shortened(named(parent), 9)) + 4);
      drawing.append(svg("path", {d: `M${from} ${above}C${from + 18} ${above} ${x - 20} ${y} ${x - 4} ${y}`, class: `branch ${state}`}));
    }
    drawing.append(svg("text", {x, y: y + 5, class: `name ${state}`}, shortened(named(place), 9), title));
    const end = x + widthOf(shortened(named(place), 9)) + 6;
    if (state === "dropped") drawing.append(svg("path", {d: `M${end} ${y - 4}l8 8M${end + 8} ${y - 4}l-8 8`, class: "dropped"}));
    if (!children[place].filter(shown).length) drawing
      .append(svg("text", {x: end + 12, y: y + 5, class: "tick"}, score.toFixed(2)));
  });
  return drawing;
}

const STATES = {open: "went on", ended: "ended", dropped: "dropped", best: "on the way to the translation"};

// The same as nested lists.
function listOf(nodes) {
  const pieces = nodes.map(([, token]) => token);
  const lists = nodes.map(() => html("ul"));
  nodes.forEach(([parent, token, logProb, score, state], place) => {
    if (parent < 0) return;
    lists[parent].append(html("li", {}, html("bdi", {}, readable(token, pieces)), ` ${score.toFixed(2)}, ${STATES[state]}`, lists[place]));
  });
  return html("details", {}, html("summary", {}, "as a list"), lists[0]);
}

// What is asked of a translation: phrases that must and must not appear, and a glossary. Of a stream no phrase must appear.
const linesOf = text => (text ?? "").split("\n").map(line => line.trim());
const termOf = line => (line.match(/^(.+?)\s*[=\t]\s*(.+)$/) ?? []).slice(1);

function wishesOf(state, streamed = false) {
  const phrases = name => linesOf(state[name]).filter(Boolean);
  const glossary = phrases("glossary").map(termOf).filter(term => term.length)
    .map(([source, target]) => ({source, target}));
  const wishes = {constraints: streamed ? [] : phrases("must"), avoid: phrases("avoid"), glossary};
  return Object.fromEntries(Object.entries(wishes).filter(([, asked]) => asked.length));
}

// What is wrong with a glossary: its first line that is no term, in a sentence.
function glossaryFault(text) {
  const lines = linesOf(text);
  const place = lines.findIndex(line => line && !termOf(line).length);
  return place < 0 ? "" : `Line ${place + 1}, “${shortened(lines[place], 30)}”, is no term and is left out: write source = target.`;
}

// Texts of several sentences. The server cuts them, by the rules of their language.

// What the server is asked about; anything else is one sentence.
const MAYBE_SEVERAL = /[\p{Sentence_Terminal};…]["'”’»)\]」』）]*\s*\S|\S\s*\n\s*\S/u;
const HTML_TAG = /<(\/?)(a|b|br|div|em|h[1-6]|i|li|ol|p|span|strong|table|td|tr|u|ul)(\s[^<>]*)?\/?>/i;
const WIDE = /[。！？｡」』”）]$/; // after which Chinese and Japanese write no blank

async function sentencesOf(run, text) {
  if (!MAYBE_SEVERAL.test(text)) return [text];
  const {sentences} = await ask("/api/sentences", {run: run.name, text});
  return sentences.reduce((parts, part) => {
    if (part.trim() || !parts.length) parts.push(part);
    else parts[parts.length - 1] += part;
    return parts;
  }, []);
}

// What stands between the translations of two sentences: what parts the sources, unless only one language has blanks there.
function gapAfter(part, translation) {
  const gap = part.slice(part.trimEnd().length);
  const wide = WIDE.test(translation);
  return gap.includes("\n") || wide === WIDE.test(part.trimEnd()) ? gap : wide ? "" : " ";
}

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Without a secure address there is no clipboard, but a selection can be copied.
  const area = html("textarea", {}, text);
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function copier(text) {
  const own = button("copy", async () => {
    await copy(text());
    own.textContent = "copied";
    setTimeout(() => { own.textContent = "copy"; }, 1500);
  }, {class: "copy", "aria-label": "copy the translation"});
  return own;
}

// The panel in which one translates.

const PAUSE = 400; // milliseconds without a key, after which a source counts as written, and all is asked of it
const TOP = 6; // runners-up of each token
const AT_ONCE = 8; // sentences that are asked of at once
const KEPT = 500; // answers that are kept

// The number of the part that a place of the text is in.
function partAt(parts, place) {
  let end = 0;
  const found = parts.findIndex(part => (end += part.length) >= place);
  return found < 0 ? parts.length - 1 : found;
}

// The text of a translation, in which words that the model is unsure of are marked.
function markedWords(record) {
  const alignment = attempt(() => new Alignment(record, true), () => null);
  const marked = [];
  let rest = record.text;
  (alignment?.target ?? []).forEach(({label}, j) => {
    const at = alignment.unsure(j) ? rest.indexOf(label) : -1;
    if (at < 0) return;
    marked.push(rest.slice(0, at), html("span", {class: "unsure", title: `unsure: ${percent(alignment.certainty(j))}`}, label));
    rest = rest.slice(at + label.length);
  });
  return [...marked, rest];
}

class Translating {
  constructor(runs, state) {
    this.runs = runs;
    this.state = state;
    this.steered = new Map(); // what was taken or forced, by the text of its sentence
    this.known = new Map(); // answers by what was asked, so that a key asks anew of one sentence alone
    this.parts = []; // the sentences, each with what parts it from the next
    this.chosen = 0; // the one that is drawn
    this.said = html("p", {role: "status", class: "said-of"});
    this.growing = html("p", {class: "line growing", dir: "auto", "aria-live": "polite", "aria-label": "translation so far"});
    this.details = html("div", {class: "details"});
    this.choices = html("div", {class: "choices"});
    this.tree = html("div", {class: "beam"});
    this.whole = html("div", {class: "details"});
    this.input = html("div", {class: "input"});
    this.element = html("section", {class: "translating", "aria-label": "translate"}, this.#options(), this.input, this.said,
      this.whole, this.choices, this.details, this.tree);
    this.#inputs();
  }

  get run() { return this.runs.find(run => run.name === this.state.run) ?? this.runs[0]; }

  // What is kept in the address, beside the terms.
  #options() {
    const names = this.runs.map(run =>
      [run.name, `${run.name}${run.source && run.target ? ` (${run.source} to ${run.target})` : ""}`]);
    const changed = name => value => { this.state[name] = value; this.#inputs(); this.now(); };
    const area = (label, name, hint) => html("label", {class: "area"}, label,
      html("textarea", {rows: 2, placeholder: hint, oninput: event => { this.state[name] = event.target.value; tell(); this.soon(); }},
        this.state[name] ?? ""));
    const fault = html("p", {role: "status", class: "fault"});
    const tell = () => { fault.textContent = glossaryFault(this.state.glossary); };
    tell();
    const number = html("input", {type: "number", min: 1, max: 20, value: this.state.beam ?? "", "aria-label": "beam",
      onchange: event => changed("beam")(event.target.value)});
    const areas = [area("must appear", "must", "a phrase a line, of the sentence that is drawn"),
      area("must not appear", "avoid", "a phrase a line"),
      area("glossary", "glossary", "source = target"), area("align with this target", "target", "instead of a translation"),
      area("gold links", "gold", "0-0 1-2")];
    const used = ["must", "avoid", "glossary", "target"].some(name => this.state[name]);
    return html("div", {}, html("div", {class: "choices"}, select("run", names, this.run.name, changed("run")),
        select("beside it", [["", "nothing"], ...names], this.state.beside, changed("beside")),
        html("label", {}, "beam ", number), html("label", {}, checkbox(this.state.tree, changed("tree")), " as a tree")),
      html("details", {open: used}, html("summary", {}, "terms, and a target of your own"),
        html("div", {class: "areas"}, ...areas), fault));
  }

  #inputs() {
    const {field, rate} = this.run;
    if (field === "text") {
      this.box = html("textarea", {rows: 3, dir: "auto", "aria-label": "source",
        placeholder: "type or paste a text: several sentences, paragraphs, or HTML",
        oninput: () => this.#typed()}, this.state.text ?? "");
      this.input.replaceChildren(this.box, ...(this.run.streams ? [this.growing] : []));
      return;
    }
    const kind = field === "audio" ? "audio" : "image";
    const file = html("input", {type: "file", accept: `${kind}/*`, "aria-label": kind === "audio" ? "sound file" : "picture",
      onchange: event => this.#took(kind, event.target.files[0])});
    this.input.replaceChildren(html("label", {}, kind === "audio" ? "a sound " : "a picture ", file),
      ...(kind === "audio" ? [this.#recorder(rate)] : []));
  }

  #recorder(rate) {
    const samples = [];
    return listener(["record", "stop"], rate, {
      heard: part => samples.push(part),
      ended: () => this.#took("audio", wavOf(samples.splice(0), rate)),
      refused: text => { this.said.textContent = text; },
    });
  }

  async #took(kind, blob) {
    if (!blob) return;
    this.media = {[kind]: await base64(blob)};
    this.steered.clear();
    this.player?.remove();
    if (kind === "audio") this.input.append(this.player = html("audio", {controls: true, src: URL.createObjectURL(blob)}));
    this.now();
  }

  // Streamed models read each word of the last sentence once a blank follows it. What they wrote stays, unless the source
  // itself is changed.
  #typed() {
    this.state.text = this.box.value;
    this.follows = true; // what is drawn follows the cursor
    if (!this.run.streams || this.#takenAsHtml()) { this.soon(); return; }
    const begin = this.parts.slice(0, -1).join("");
    const last = this.box.value.startsWith(begin) ? this.box.value.slice(begin.length) : this.box.value;
    const complete = last.slice(0, last.search(/\S*$/));
    if (!this.stream || !complete.startsWith(this.read)) this.#begin();
    const words = complete.slice(this.read.length).trim();
    if (words) this.stream.send({words});
    this.read = complete;
    this.soon(false);
  }

  #begin() {
    this.stream?.close();
    this.read = "";
    this.growing.replaceChildren();
    const joint = this.run.unit === "char" ? "" : " ";
    this.stream = socketTo("/api/stream", {run: this.run.name, ...wishesOf(this.state, true)}, {
      message: ({written}) => written?.forEach(word => this.growing
        .append(html("span", {}, this.growing.childElementCount ? joint : "", word))),
      failed: error => { this.said.textContent = error; this.stream = null; },
    });
  }

  // A key: asks for the translation at once, unless it is streamed, and for what else each step could have been after a pause.
  soon(atOnce = true) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), PAUSE);
    if (atOnce) this.now(0);
  }

  // What is asked of one sentence, or of a sound or a picture.
  #asked(run, text, drawn) {
    const beam = Number(this.state.beam);
    const {constraints, ...wishes} = wishesOf(this.state);
    return {
      run: run.name, ...(run.field === "text" ? {text} : this.media),
      ...(beam ? {search: beam > 1 ? {name: "beam", beam_size: beam} : {name: "greedy"}} : {}),
      ...wishes, ...(drawn && constraints ? {constraints} : {}), ...(drawn && this.state.tree ? {tree: true} : {}),
      ...(run === this.run ? this.steered.get(text)?.asked : {}),
    };
  }

  // The answer to a question, which is asked once; one with runners-up will do where none are asked for.
  async #once(asked, top) {
    const key = JSON.stringify(asked);
    const before = this.known.get(key);
    if (before && before.top >= top) return before.answer;
    const answer = await ask("/api/translate", top ? {...asked, top} : asked);
    if (this.known.size >= KEPT) this.known.delete(this.known.keys().next().value);
    this.known.set(key, {top, answer});
    return answer;
  }

  #takenAsHtml() {
    return this.run.field === "text" && this.state.as !== "text" && HTML_TAG.test(this.state.text ?? "");
  }

  // Asks of what is written now. One question is under way at a time, and when it is answered, the latest one is asked.
  async now(top = TOP) {
    writeState(this.state);
    this.due = top;
    if (this.asking) return;
    this.asking = true;
    while (this.due !== null) {
      const count = this.due;
      this.due = null;
      await this.#answer(count);
    }
    this.asking = false;
  }

  async #answer(top) {
    const began = performance.now();
    if (!(this.run.field === "text" ? this.state.text?.trim() : this.media)) {
      [this.details, this.tree, this.said, this.choices, this.whole].forEach(part => part.replaceChildren());
      return;
    }
    const runs = [this.run, ...this.runs.filter(run => run.name === this.state.beside && run !== this.run)];
    try {
      if (this.#takenAsHtml()) await this.#document(runs);
      else await this.#sentences(runs, top);
      this.said.textContent = `${Math.round(performance.now() - began)} ms`;
    } catch (error) { this.said.textContent = error.message; }
  }

  // HTML is translated as one document, which the server takes apart.
  async #document(runs) {
    const texts = await Promise.all(runs.map(async run => {
      const {constraints, ...asked} = this.#asked(run, this.state.text, false);
      return (await ask("/api/translate", {...asked, format: "html"})).translations[0].text;
    }));
    [this.details, this.tree].forEach(part => part.replaceChildren());
    this.choices.replaceChildren("taken as HTML: tags stand where the links of the words say ",
      button("take it as plain text", () => { this.state.as = "text"; this.now(); }));
    this.whole.replaceChildren(...runs.map((run, place) => html("section", {class: "detail whole", "aria-label": "translated HTML"},
      runs.length > 1 ? html("h2", {}, html("bdi", {}, run.name)) : null, copier(() => texts[place]),
      html("pre", {class: "line", dir: "auto"}, texts[place]))));
  }

  // A text is translated sentence by sentence. A given target belongs to all of it.
  async #sentences(runs, top) {
    const target = this.state.target?.trim();
    const whole = this.run.field === "text" ? this.state.text : "";
    const parts = target || this.run.field !== "text" ? [whole] : await sentencesOf(this.run, whole);
    if (this.follows) this.chosen = partAt(parts, this.box?.selectionStart ?? 0);
    this.follows = false;
    this.parts = parts;
    this.chosen = Math.min(this.chosen, parts.length - 1);
    const answers = parts.map(() => []);
    for (let first = 0; first < parts.length; first += AT_ONCE)
      await Promise.all(parts.slice(first, first + AT_ONCE).flatMap((part, within) => runs.map(async (run, place) => {
        const number = first + within;
        const answer = target ? await this.#align(run)
          : await this.#once(this.#asked(run, part.trim(), number === this.chosen), top);
        answers[number][place] = {run, record: answer.translations[0], tree: answer.tree};
      })));
    this.answers = answers;
    this.show();
  }

  async #align(run) {
    const {text, audio, image} = this.#asked(run, this.state.text ?? "", false);
    const gold = this.state.gold?.trim();
    const {translation, aer} = await ask("/api/align", {run: run.name, text, audio, image, target: this.state.target.trim(),
      ...(gold ? {gold} : {})});
    const words = [...new Set(translation.target_units.filter(unit => unit !== null))];
    return {translations: [{...translation, ...(gold ? {aer, gold: {links: gold, words}} : {})}], tree: null};
  }

  // Draws the chosen sentence, below the whole translation where there are several.
  show() {
    const answers = this.answers[this.chosen];
    const [{record, tree}] = answers;
    const text = this.parts[this.chosen].trim();
    const steering = this.steered.get(text);
    const asHtml = this.state.as === "text" && HTML_TAG.test(this.state.text ?? "")
      ? [button("take it as HTML", () => { this.state.as = ""; this.now(); })] : [];
    this.choices.replaceChildren(...asHtml, ...choicesOf(record, this.state, () => { writeState(this.state); this.show(); }),
      ...(steering ? [html("span", {class: "steering"}, steering.said),
        button("as the model has it", () => { this.steered.delete(text); this.now(); })] : []));
    if (this.parts.length > 1)
      this.whole.replaceChildren(...answers.map(({run}, place) => this.#wholeOf(run, place, answers.length > 1)));
    else {
      this.whole.replaceChildren();
      this.choices.append(copier(() => record.text));
    }
    this.details.replaceChildren(...answers.map(({run, record: own}, place) =>
      drawn(answers.length > 1 ? run.name : "", own, this.state, place ? {} : this.#actions(run, text))));
    this.tree.replaceChildren(...(tree ? this.#drawnTree(tree.nodes) : []));
  }

  // The whole translation of one run: a click on a sentence draws that one below.
  #wholeOf(run, place, named) {
    const records = this.answers.map(of => of[place].record);
    const gaps = records.map(({text}, number) => number + 1 < records.length ? gapAfter(this.parts[number], text) : "");
    const whole = () => records.map(({text}, number) => text + gaps[number]).join("");
    const choose = number => { this.chosen = number; this.now(); };
    const sentences = records.map((record, number) => html("span", {
      role: "button", tabindex: 0, class: number === this.chosen ? "sentence chosen" : "sentence", dir: "auto",
      "aria-pressed": `${number === this.chosen}`, title: "draw this sentence below", onclick: () => choose(number),
      onkeydown: event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(number); } },
    }, ...markedWords(record)));
    const line = html("p", {class: "line text", dir: "auto"}, ...sentences.flatMap((sentence, number) => [sentence, gaps[number]]));
    return html("section", {class: "detail whole", "aria-label": "whole translation"},
      named ? html("h2", {}, html("bdi", {}, run.name)) : null, copier(whole),
      html("p", {class: "hint"}, "A click on a sentence draws it below."), line);
  }

  #drawnTree(nodes) {
    const all = checkbox(this.state.dropped, checked => { this.state.dropped = checked; writeState(this.state); this.show(); });
    return [html("h2", {}, "the beam"), html("label", {}, all, " extensions that got no place as well"),
      html("div", {class: "wide canvas"}, treeOf(nodes, Boolean(this.state.dropped))), listOf(nodes)];
  }

  // What a word of the drawing can be asked to do.
  #actions(run, text) {
    const steer = (asked, said) => { this.steered.set(text, {asked, said}); this.now(); };
    const choose = (alignment, j, piece, id) => {
      const place = alignment.target[j].tokens[0];
      steer({prefix_ids: [...alignment.record.ids.slice(0, place), id]}, `word ${j + 1} begins with “${piece}”`);
    };
    const forceOn = (alignment, i, j) => {
      const place = alignment.target[j].tokens[0];
      const earlier = (this.steered.get(text)?.asked.force ?? []).filter(([step]) => step < place);
      const force = [...earlier, ...alignment.source[i].tokens.map(position => [place, position])];
      steer({prefix_ids: alignment.record.ids.slice(0, place), force}, `word ${j + 1} looks at ${alignment.nameOf("source", i)}`);
    };
    return {choose, ...(run.forces ? {force: forceOn} : {})};
  }
}
