"use strict";
// Live captions: words arrive, and the translation grows below. What a stream has written is never changed; translating
// again from the beginning beside it may change what it has shown, and both are counted here, from what is shown.

const LINES = 200; // sentences that stay: those of ten minutes

// What was shown of one translation while it grew, word by word; of a run of characters, character by character.
class Shown {
  constructor(label, unit) {
    this.units = unit === "char" ? "characters" : "words";
    this.changed = 0;
    this.written = 0; // words and their lags, of sentences that have ended
    this.lagged = 0;
    this.delays = [];
    this.read = 0;
    this.words = [];
    this.line = null;
    this.log = html("div", {class: "log", role: "log", "aria-label": label, tabindex: 0});
    this.numbers = html("dl", {class: "facts"});
    this.element = html("section", {class: "detail caption", "aria-label": label}, html("h2", {}, label), this.numbers, this.log);
    this.tell();
  }

  // Shows all words so far; the ones that differ from what stood there are counted, and marked.
  show(words, read, joint) {
    if (!this.line) this.log.append(this.line = html("p", {class: "line", dir: "auto"}));
    while (this.log.childElementCount > LINES) this.log.firstElementChild.remove();
    const kept = words.findIndex((word, place) => this.words[place] !== undefined && word !== this.words[place]);
    const first = kept < 0 ? Math.min(words.length, this.words.length) : kept;
    const erased = this.words.length - first;
    this.changed += Math.max(0, erased);
    while (this.line.childElementCount > first) this.line.lastElementChild.remove();
    words.slice(first).forEach((word, place) => {
      const before = first + place ? joint : "";
      this.line.append(html("span", {class: erased > 0 && place < erased ? "changed" : null}, before, word));
    });
    for (let place = this.words.length; place < words.length; place++) this.delays.push(read);
    this.delays.length = Math.min(this.delays.length, words.length);
    this.words = [...words];
    this.read = read;
    this.log.scrollTop = this.log.scrollHeight;
    this.tell();
  }

  // The sentence has ended; the next one begins below.
  end() {
    this.written += this.words.length;
    this.lagged += this.lag;
    this.words = [];
    this.delays = [];
    this.read = 0;
    this.line = null;
    this.tell();
  }

  // How far words came behind an even pace, summed over the sentence so far. As none can be written sooner than a step of
  // that pace after the one before, a word that came early does not make up for one that came late.
  get lag() {
    const pace = this.words.length ? this.read / this.words.length : 0;
    let due = -pace;
    return this.delays.reduce((sum, delay, place) => sum + (due = Math.max(delay, due + pace)) - place * pace, 0);
  }

  // The mean lag is differentiable average lagging (Cherry and Foster 2019); erasure is what was erased for each word that stands.
  tell() {
    const count = this.written + this.words.length;
    const mean = total => count ? (total / count).toFixed(2) : "-";
    this.numbers.replaceChildren(...definitions(Object.entries({[`${this.units} shown`]: count,
      [`${this.units} ever changed`]: this.changed, "normalised erasure": mean(this.changed),
      "mean lag": mean(this.lagged + this.lag)})));
  }
}

// The panel: where words come from, the source so far, and one or two translations of it.
class Captions {
  constructor(runs, state) {
    this.runs = runs.filter(run => run.streams);
    this.state = state;
    this.texts = this.runs.filter(run => run.field === "text");
    this.sounds = this.runs.filter(run => run.field === "audio");
    this.said = html("p", {role: "status"});
    this.source = html("div", {class: "log", role: "log", "aria-label": "source", tabindex: 0});
    this.input = html("div", {class: "input"});
    this.outputs = html("div", {class: "details"});
    this.element = html("section", {class: "captions", "aria-label": "live captions"}, this.#options(), this.input, this.said,
      this.source, this.outputs);
    this.#inputs();
  }

  get run() { return this.runs.find(run => run.name === this.state.run) ?? this.runs[0]; }

  #options() {
    if (!this.runs.length) return html("p", {class: "none"},
      "No run of this server can translate while it reads: runs of pictures and exported runs cannot.");
    const changed = (name, value) => {
      this.state[name] = value;
      writeState(this.state);
      this.close();
      this.#inputs();
    };
    const names = this.runs.map(run => [run.name, run.name]);
    const again = checkbox(this.state.again !== "no", checked => changed("again", checked ? "" : "no"));
    const heard = [["", "none"], ...this.sounds.map(run => [run.name, run.name])];
    const recognisers = this.sounds.length && this.texts.length
      ? [select("recogniser", heard, this.state.recogniser ?? "", value => changed("recogniser", value))] : [];
    return html("div", {class: "choices"}, select("run", names, this.run.name, value => changed("run", value)), ...recognisers,
      html("label", {}, again, " translated again beside it"));
  }

  #inputs() {
    if (!this.runs.length) return;
    const heard = this.run.field === "audio" ? this.run : this.sounds.find(run => run.name === this.state.recogniser);
    if (heard) { this.input.replaceChildren(this.#microphone(heard)); return; }
    const typed = html("input", {type: "text", dir: "auto", "aria-label": "words",
      placeholder: "type words; Enter ends the sentence", class: "typed"});
    typed.addEventListener("input", () => {
      const complete = typed.value.slice(0, typed.value.search(/\S*$/));
      if (complete.trim()) { this.words(complete.trim()); typed.value = typed.value.slice(complete.length); }
    });
    typed.addEventListener("keydown", event => {
      if (event.key !== "Enter") return;
      if (typed.value.trim()) this.words(typed.value.trim());
      typed.value = "";
      this.end();
    });
    const pasted = html("textarea", {rows: 3, dir: "auto", "aria-label": "text to read at a pace", placeholder: "or paste a text"});
    const pace = html("input", {type: "number", min: 20, max: 1000, value: this.state.pace ?? 150, "aria-label": "words a minute",
      onchange: event => { this.state.pace = event.target.value; writeState(this.state); }});
    this.button = button("read it", () => this.playing ? this.stop() : this.#play(pasted.value, Number(pace.value) || 150));
    this.input.replaceChildren(typed, pasted, html("div", {class: "choices"}, html("label", {}, pace, " words a minute "), this.button));
  }

  // Words of a text one by one; a sentence ends where the server cuts it.
  async #play(text, pace) {
    let parts = [];
    try { parts = await sentencesOf(this.texts[0], text); } catch (error) { this.said.textContent = error.message; return; }
    const words = parts.flatMap(part => part.trim().split(/\s+/).filter(Boolean)
      .map((word, place, all) => [word, place === all.length - 1]));
    if (!words.length) return;
    this.button.textContent = "stop";
    const next = () => {
      const [word, last] = words.shift();
      this.words(word);
      if (last) this.end();
      if (!words.length) this.stop();
    };
    this.playing = setInterval(next, 60000 / pace);
    next();
  }

  // Samples go to the run itself, or to a recogniser, whose words go on to the run.
  #microphone(run) {
    const failed = text => { this.said.textContent = text; };
    const message = ({written, done}) => {
      if (written?.length) this.words(written.join(run.unit === "char" ? "" : " ").trim());
      if (done) this.end();
    };
    return listener(["listen", "stop listening"], run.rate, {
      begun: () => {
        this.#connect();
        if (run !== this.run) this.recogniser ??= socketTo("/api/stream", {run: run.name}, {message, failed});
      },
      heard: samples => (this.recogniser ? [this.recogniser] : this.streams ?? []).forEach(hearer => hearer.send(samples.buffer)),
      ended: () => this.recogniser ? this.recogniser.send({end: true}) : this.end(),
      refused: failed,
    });
  }

  #connect() {
    if (this.streams) return;
    const {unit} = this.run;
    const kinds = [["stream: nothing is taken back", {}], ["translated again from the beginning", {search: {name: "retranslate"}}]];
    if (this.state.again === "no" || this.run.field !== "text") kinds.pop();
    this.said.textContent = "";
    this.streams = kinds.map(([label, options], place) => {
      const shown = new Shown(label, unit);
      if (!place) this.outputs.replaceChildren();
      this.outputs.append(shown.element);
      return socketTo("/api/stream", {run: this.run.name, ...(this.run.field === "text" ? wishesOf(this.state, true) : {}), ...options}, {
        message: ({words, read, done}) => {
          shown.show(words, read ?? shown.read, unit === "char" ? "" : " ");
          if (done) shown.end();
        },
        failed: error => { this.said.textContent = error; this.close(); },
      });
    });
  }

  words(words) {
    this.#connect();
    if (!this.line) this.source.append(this.line = html("p", {class: "line", dir: "auto"}));
    this.line.append(html("span", {}, this.line.childElementCount ? " " : "", words));
    this.source.scrollTop = this.source.scrollHeight;
    while (this.source.childElementCount > LINES) this.source.firstElementChild.remove();
    if (this.run.field === "text") this.streams.forEach(stream => stream.send({words}));
  }

  end() {
    this.streams?.forEach(stream => stream.send({end: true}));
    this.line = null;
  }

  stop() {
    clearInterval(this.playing);
    this.playing = null;
    if (this.button) this.button.textContent = "read it";
  }

  close() {
    this.stop();
    this.streams?.forEach(stream => stream.close());
    this.recogniser?.close();
    this.streams = null;
    this.recogniser = null;
  }
}

// The live page: two panels, one of which is shown.

class Live {
  constructor(runs) {
    this.state = readState();
    const kinds = {translate: new Translating(runs, this.state), captions: new Captions(runs, this.state)};
    const tabs = Object.keys(kinds).map(name => button(TABS[name], () => show(name),
      {role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`}));
    const panels = Object.entries(kinds).map(([name, {element}]) =>
      html("div", {role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`}, element));
    const show = chosen => {
      Object.keys(kinds).forEach((name, place) => {
        tabs[place].setAttribute("aria-selected", `${name === chosen}`);
        tabs[place].tabIndex = name === chosen ? 0 : -1;
        panels[place].hidden = name !== chosen;
      });
      this.state.tab = chosen === "translate" ? "" : chosen;
      writeState(this.state);
    };
    const list = html("div", {role: "tablist", "aria-label": "what to do", class: "tabs"}, ...tabs);
    list.addEventListener("keydown", event => rove(event, tabs));
    const key = html("input", {type: "password", autocomplete: "off",
      onchange: event => { KEY = event.target.value; kinds.translate.now(); }});
    this.element = html("div", {}, html("label", {class: "key", hidden: true}, "key of this server ", key), list, ...panels);
    show(kinds[this.state.tab] ? this.state.tab : "translate");
    kinds.translate.now();
  }
}

const TABS = {translate: "Translate", captions: "Live captions"};

if (DATA.live) document.getElementById("explorer").replaceChildren(new Live(DATA.runs).element);
