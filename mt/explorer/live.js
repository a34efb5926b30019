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
  nodes.forEach(([parent, token, logProb, score, state], place) => {
    if (!places[place]) return;
    const [x, y] = at(place);
    const title = svg("title", {},
      `${token || "the beginning"}: ${STATES[state]}; log-probability ${logProb.toFixed(2)}, score ${score.toFixed(2)}`);
    if (parent >= 0) {
      const [left, above] = at(parent);
      const from = left + Math.min(across - 24, widthOf(shortened(nodes[parent][1], 9)) + 4);
      drawing.append(svg("path", {d: `M${from} ${above}C${from + 18} ${above} ${x - 20} ${y} ${x - 4} ${y}`, class: `branch ${state}`}));
    }
    drawing.append(svg("text", {x, y: y + 5, class: `name ${state}`}, shortened(token, 9), title));
    const end = x + widthOf(shortened(token, 9)) + 6;
    if (state === "dropped") drawing.append(svg("path", {d: `M${end} ${y - 4}l8 8M${end + 8} ${y - 4}l-8 8`, class: "dropped"}));
    if (!children[place].filter(shown).length) drawing
      .append(svg("text", {x: end + 12, y: y + 5, class: "tick"}, score.toFixed(2)));
  });
  return drawing;
}

const STATES = {open: "went on", ended: "ended", dropped: "dropped", best: "on the way to the translation"};

// The same as nested lists.
function listOf(nodes) {
  const lists = nodes.map(() => html("ul"));
  nodes.forEach(([parent, token, logProb, score, state], place) => {
    if (parent < 0) return;
    lists[parent].append(html("li", {}, html("bdi", {}, token), ` ${score.toFixed(2)}, ${STATES[state]}`, lists[place]));
  });
  return html("details", {}, html("summary", {}, "as a list"), lists[0]);
}

// What is asked of a translation: phrases that must and must not appear, and a glossary. Of a stream no phrase must appear.
function wishesOf(state, streamed = false) {
  const lines = name => (state[name] ?? "").split("\n").map(line => line.trim()).filter(Boolean);
  const glossary = lines("glossary").map(line => line.split(/\s*[=\t]\s*/)).filter(([source, target]) => source && target)
    .map(([source, target]) => ({source, target}));
  const wishes = {constraints: streamed ? [] : lines("must"), avoid: lines("avoid"), glossary};
  return Object.fromEntries(Object.entries(wishes).filter(([, phrases]) => phrases.length));
}

// The panel in which one translates.

const PAUSE = 400; // milliseconds without a key, after which a source counts as written, and all is asked of it
const TOP = 6; // runners-up of each token

class Translating {
  constructor(runs, state) {
    this.runs = runs;
    this.state = state;
    this.steering = null; // what was taken or forced of the last translation
    this.said = html("p", {role: "status", class: "said-of"});
    this.growing = html("p", {class: "line growing", dir: "auto", "aria-live": "polite", "aria-label": "translation so far"});
    this.details = html("div", {class: "details"});
    this.choices = html("div", {class: "choices"});
    this.tree = html("div", {class: "beam"});
    this.input = html("div", {class: "input"});
    this.element = html("section", {class: "translating", "aria-label": "translate"}, this.#options(), this.input, this.said,
      this.choices, this.details, this.tree);
    this.#inputs();
  }

  get run() { return this.runs.find(run => run.name === this.state.run) ?? this.runs[0]; }

  // What is kept in the address, beside the terms.
  #options() {
    const names = this.runs.map(run =>
      [run.name, `${run.name}${run.source && run.target ? ` (${run.source} to ${run.target})` : ""}`]);
    const changed = name => value => { this.state[name] = value; this.#inputs(); this.now(); };
    const area = (label, name, hint) => html("label", {class: "area"}, label,
      html("textarea", {rows: 2, placeholder: hint, oninput: event => { this.state[name] = event.target.value; this.soon(); }},
        this.state[name] ?? ""));
    const number = html("input", {type: "number", min: 1, max: 20, value: this.state.beam ?? "", "aria-label": "beam",
      onchange: event => changed("beam")(event.target.value)});
    const areas = [area("must appear", "must", "a phrase a line"), area("must not appear", "avoid", "a phrase a line"),
      area("glossary", "glossary", "source = target"), area("align with this target", "target", "instead of a translation"),
      area("gold links", "gold", "0-0 1-2")];
    const used = ["must", "avoid", "glossary", "target"].some(name => this.state[name]);
    return html("div", {}, html("div", {class: "choices"}, select("run", names, this.run.name, changed("run")),
        select("beside it", [["", "nothing"], ...names], this.state.beside, changed("beside")),
        html("label", {}, "beam ", number), html("label", {}, checkbox(this.state.tree, changed("tree")), " as a tree")),
      html("details", {open: used}, html("summary", {}, "terms, and a target of your own"), html("div", {class: "areas"}, ...areas)));
  }

  #inputs() {
    const {field, rate} = this.run;
    if (field === "text") {
      this.box = html("textarea", {rows: 3, dir: "auto", "aria-label": "source", placeholder: "type a text",
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
    this.steering = null;
    this.player?.remove();
    if (kind === "audio") this.input.append(this.player = html("audio", {controls: true, src: URL.createObjectURL(blob)}));
    this.now();
  }

  // Streamed models read each word once a blank follows it. What they wrote stays, unless the source itself is changed.
  #typed() {
    this.state.text = this.box.value;
    this.steering = null;
    if (!this.run.streams) { this.soon(); return; }
    const complete = this.box.value.slice(0, this.box.value.search(/\S*$/));
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

  #asked(run, top) {
    const source = run.field === "text" ? {text: this.state.text ?? ""} : this.media;
    const beam = Number(this.state.beam);
    return {
      run: run.name, ...source, ...(top ? {top} : {}),
      ...(beam ? {search: beam > 1 ? {name: "beam", beam_size: beam} : {name: "greedy"}} : {}),
      ...wishesOf(this.state), ...(this.state.tree ? {tree: true} : {}), ...(run === this.run ? this.steering?.asked : {}),
    };
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
      [this.details, this.tree, this.said, this.choices].forEach(part => part.replaceChildren());
      return;
    }
    const chosen = [this.run, ...this.runs.filter(run => run.name === this.state.beside && run !== this.run)];
    try {
      const answers = await Promise.all(chosen.map(run => this.state.target?.trim() ? this.#align(run)
        : ask("/api/translate", this.#asked(run, top))));
      this.answers = chosen.map((run, place) => ({run, record: answers[place].translations[0], tree: answers[place].tree}));
      this.show();
      this.said.textContent = `${Math.round(performance.now() - began)} ms`;
    } catch (error) { this.said.textContent = error.message; }
  }

  async #align(run) {
    const {text, audio, image} = this.#asked(run, 0);
    const gold = this.state.gold?.trim();
    const {translation, aer} = await ask("/api/align", {run: run.name, text, audio, image, target: this.state.target.trim(),
      ...(gold ? {gold} : {})});
    const words = [...new Set(translation.target_units.filter(unit => unit !== null))];
    return {translations: [{...translation, ...(gold ? {aer, gold: {links: gold, words}} : {})}], tree: null};
  }

  show() {
    const [{record, tree}] = this.answers;
    this.choices.replaceChildren(...choicesOf(record, this.state, () => { writeState(this.state); this.show(); }),
      ...(this.steering ? [html("span", {class: "steering"}, this.steering.said),
        button("as the model has it", () => { this.steering = null; this.now(); })] : []));
    this.details.replaceChildren(...this.answers.map(({run, record: own}, place) =>
      drawn(this.answers.length > 1 ? run.name : "", own, this.state, place ? {} : this.#actions(run))));
    this.tree.replaceChildren(...(tree ? this.#drawnTree(tree.nodes) : []));
  }

  #drawnTree(nodes) {
    const all = checkbox(this.state.dropped, checked => { this.state.dropped = checked; writeState(this.state); this.show(); });
    return [html("h2", {}, "the beam"), html("label", {}, all, " extensions that got no place as well"),
      html("div", {class: "wide canvas"}, treeOf(nodes, Boolean(this.state.dropped))), listOf(nodes)];
  }

  // What a word of the drawing can be asked to do.
  #actions(run) {
    const steer = (asked, said) => { this.steering = {asked, said}; this.now(); };
    const choose = (alignment, j, piece, id) => {
      const place = alignment.target[j].tokens[0];
      steer({prefix_ids: [...alignment.record.ids.slice(0, place), id]}, `word ${j + 1} begins with “${piece}”`);
    };
    const forceOn = (alignment, i, j) => {
      const place = alignment.target[j].tokens[0];
      const earlier = (this.steering?.asked.force ?? []).filter(([step]) => step < place);
      const force = [...earlier, ...alignment.source[i].tokens.map(position => [place, position])];
      steer({prefix_ids: alignment.record.ids.slice(0, place), force}, `word ${j + 1} looks at ${alignment.nameOf("source", i)}`);
    };
    return {choose, ...(run.forces ? {force: forceOn} : {})};
  }
}
