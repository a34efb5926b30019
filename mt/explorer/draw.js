"use strict";
// Draws one alignment: what a record of mt/decoding/record.py says, in words or pieces, as a matrix, as links, or on the
// picture or the sound that was read. First elements, then what a record says, then the drawings, then their export.

// Elements. Text becomes text nodes alone, so that no text is ever taken for markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const checkbox = (checked, changed) =>
  html("input", {type: "checkbox", checked: Boolean(checked), onchange: event => changed(event.target.checked ? "1" : "")});
const button = (text, clicked, attributes = {}) => html("button", {type: "button", onclick: clicked, ...attributes}, text);
const definitions = pairs => pairs.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, `${value}`)));
const percent = share => share === null || share === undefined ? "?" : share > 0 && share < 0.01 ? "under 1\u00a0%"
  : `${Math.round(100 * share)}\u00a0%`;

const brush = document.createElement("canvas").getContext("2d");
brush.font = "14px system-ui, sans-serif";
const widthOf = text => brush.measureText(text).width;
const shortened = (text, most) => [...text].length > most ? [...text].slice(0, most - 1).join("") + "…" : text;
// Letters of Hebrew and Arabic scripts: the first letter says which way a text runs.
const RIGHT_TO_LEFT = /^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const runsRightToLeft = text => RIGHT_TO_LEFT.test(text);
// Within a sentence of ours such a word is isolated, so that it turns nothing round it.
const isolated = text => runsRightToLeft(text) ? `\u2068${text}\u2069` : text;

// What a record says, in words or in pieces.

// The words of one side, or its pieces: {label, tokens, blank (whether one stands before it), unit}.
function partsOf(tokens, units, byWord) {
  const marked = tokens.some(token => token.includes("▁"));
  const parts = [];
  const places = new Map();
  tokens.forEach((token, index) => {
    const unit = units[index] ?? null;
    const known = byWord && unit !== null ? places.get(unit) : undefined;
    if (known) { known.tokens.push(index); known.label += token; return; }
    const blank = parts.length > 0 && (marked ? token.startsWith("▁") : !token.startsWith("￭"));
    const part = {label: token, tokens: [index], blank, unit};
    if (byWord && unit !== null) places.set(unit, part);
    parts.push(part);
  });
  for (const part of parts) {
    part.end = part.tokens.length === 1 && part.label === "</s>";
    const bare = part.label.replaceAll("▁", "").replace(/^￭/, "");
    part.label = part.end ? "⏎" : bare || part.label;
  }
  return parts;
}

// A piece as readers read it: what goes on with the word before begins with an ellipsis.
function readable(piece, pieces) {
  if (piece === "</s>") return "⏎";
  if (piece === "<unk>") return "unknown word";
  const marked = pieces.some(token => token.includes("▁"));
  const begins = marked ? piece.startsWith("▁") : !piece.startsWith("￭");
  return `${begins ? "" : "…"}${piece.replaceAll("▁", "").replace(/^￭/, "")}` || "(blank)";
}

// Gives unknown words of a source their names: what stands in the text between the words that are known.
function nameUnknown(parts, text) {
  const known = part => !part.end && !part.label.includes("<unk>");
  let from = 0;
  parts.forEach((part, place) => {
    if (part.end) return;
    if (known(part)) {
      const at = text.indexOf(part.label, from);
      from = at < 0 ? from : at + part.label.length;
      return;
    }
    const next = parts.slice(place + 1).find(known);
    const to = next ? text.indexOf(next.label, from) : text.length;
    const [word] = text.slice(from, Math.max(from, to)).split(/\s+/).filter(Boolean);
    if (!word) return;
    part.label = word;
    from = text.indexOf(word, from) + word.length;
  });
}

const UNSURE = 0.5; // below which a word is marked

// The record as drawings need it. Weights between words: those of a source word's pieces summed, of a target word's the
// mean, as `weights_between_words` of mt/metrics/alignment.py has them.
class Alignment {
  constructor(record, byWord) {
    this.record = record;
    this.byWord = byWord;
    this.onBackdrop = record.backdrop ?? null;
    this.timed = this.onBackdrop?.kind === "sound";
    this.source = partsOf(record.source_tokens ?? [], record.source_units ?? [], byWord);
    if (byWord) nameUnknown(this.source, record.source ?? "");
    this.target = partsOf(record.tokens ?? [], record.target_units ?? [], byWord);
    this.weights = this.target.map(part => this.#row(part.tokens));
    const columnOf = position => this.source.findIndex(part => part.tokens.includes(position));
    this.stops = this.target.map(part =>
      part.tokens.map(token => columnOf(record.stops?.[token])).filter(column => column >= 0));
    this.delays = record.delays ? this.target.map(part => this.#readBefore(part.tokens)) : null;
    this.gold = this.#judged();
  }

  #row(tokens) {
    const dense = new Float64Array((this.record.source_tokens ?? []).length);
    for (const token of tokens) {
      const [first, ...parts] = this.record.rows?.[token] ?? [0];
      parts.forEach((part, place) => { dense[first + place] += part / 1000 / tokens.length; });
    }
    return this.source.map(part => part.tokens.reduce((sum, token) => sum + dense[token], 0));
  }

  // How many columns had been read when the last of these tokens was written.
  #readBefore(tokens) {
    const read = Math.max(...tokens.map(token => this.record.delays[token]));
    return this.source.filter(part => Math.max(...part.tokens) < read).length;
  }

  // Cells with what gold links say of them: hit, miss or false; null where there are none.
  #judged() {
    if (!this.record.gold) return null;
    const gold = new Map([...this.record.gold.links.matchAll(/(\d+)([-p])(\d+)/g)]
      .map(([, i, kind, j]) => [`${i}-${j}`, kind]));
    const known = new Set(this.record.gold.words);
    const made = new Set(this.record.links.split(" "));
    const verdicts = [];
    this.target.forEach((target, j) => this.source.forEach((source, i) => {
      const link = `${source.unit}-${target.unit}`;
      if (source.unit === null || target.unit === null || !known.has(target.unit)) return;
      if (gold.has(link)) verdicts.push({i, j, verdict: made.has(link) ? "hit" : gold.get(link) === "-" ? "miss" : ""});
      else if (made.has(link)) verdicts.push({i, j, verdict: "false"});
    }));
    return verdicts.filter(({verdict}) => verdict);
  }

  // What one step could have written instead: [[text, probability, number], ...], of the first piece of a word.
  runnersUp(j) {
    const steps = this.record.top?.[this.target[j].tokens[0]] ?? [];
    return steps.map(([piece, probability, id]) => [readable(piece, this.record.tokens), probability, id]);
  }

  // How sure the model is of a word: its confidence, or else its probability; null where neither is known.
  certainty(j) {
    return this.target[j].end ? null : this.record.word_confidence?.[this.target[j].unit] ?? this.probability(j);
  }

  unsure(j) {
    return (this.certainty(j) ?? 1) < UNSURE;
  }

  // The probability of a word, the product of those of its pieces; null where one is not known.
  probability(j) {
    const known = this.target[j].tokens.map(token => this.record.probabilities?.[token] ?? null);
    return known.includes(null) ? null : known.reduce((product, one) => product * one, 1);
  }

  // A sentence on one word: what it looks at or is looked at by, and what else could have stood there.
  sentence(side, index) {
    const [parts, others] = side === "target" ? [this.target, this.source] : [this.source, this.target];
    const share = other => side === "target" ? this.weights[index][other] : this.weights[other][index];
    const shares = others.map((other, place) => [share(place), this.nameOf(side === "target" ? "source" : "target", place)])
      .filter(([weight]) => weight >= 0.01).sort((a, b) => b[0] - a[0]);
    const mass = others.reduce((sum, _, place) => sum + share(place), 0);
    const listed = shares.slice(0, 4).map(([weight, name]) => `${name} ${percent(weight)}`).join(", ") || "nothing";
    const said = [`${this.nameOf(side, index)} ${side === "target" ? "looks at" : "is looked at by"} ${listed}` +
      `; ${side === "target" ? "mass" : "mass over all words"} ${mass.toFixed(2)}`];
    if (side === "source") return said;
    if (this.probability(index) !== null) said.push(`probability ${percent(this.probability(index))}`);
    const confidence = this.record.word_confidence?.[this.target[index].unit];
    if (confidence !== undefined) said.push(`confidence ${percent(confidence)}`);
    const stops = this.stops[index].map(stop => this.nameOf("source", stop));
    if (stops.length) said.push(`stopped at ${stops.join(", ")}`);
    const delay = this.record.words_read?.[this.target[index].tokens.at(-1)];
    if (delay !== undefined) said.push(`written after ${delay} ${this.timed ? "ms" : "source words"}`);
    return said;
  }

  // What a word is called in a sentence: a place of a sound by its second, of a picture by its row and column.
  nameOf(side, index) {
    if (side === "target" || !this.onBackdrop) return `“${isolated(this[side][index].label)}”`;
    const {kind, seconds, grid} = this.onBackdrop;
    if (kind === "sound") return `${((index + 0.5) * seconds / this.source.length).toFixed(2)} s`;
    return `row ${Math.floor(index / grid[1]) + 1} column ${index % grid[1] + 1}`;
  }
}

// Drawings. Each returns an SVG whose elements say by data-i and data-j which words they are about.

const GAP = 6;
const SPECTROGRAM = 90;

function frame(width, height, label) {
  return svg("svg", {
    xmlns: SVG, viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`, width: Math.ceil(width), height: Math.ceil(height),
    role: "img", "aria-label": label, class: "drawing",
  });
}

function labelled({target, source, onBackdrop}) {
  const read = onBackdrop ? `a ${onBackdrop.kind}` : `${source.length} source words`;
  return `attention of ${target.filter(part => !part.end).length} target words to ${read}; the table below says the same`;
}

// A cell for each pair of words; of a sound the spectrogram stands below, in place of words above.
function matrix(alignment) {
  const {source, target, weights, delays} = alignment;
  const sound = alignment.timed ? alignment.onBackdrop : null;
  const rightToLeft = !sound && runsRightToLeft(source.map(part => part.label).join(" "));
  const width = sound ? Math.max(2, Math.min(8, 760 / source.length)) : Math.max(14, Math.min(30, 760 / source.length));
  const height = Math.max(18, Math.min(30, 600 / target.length));
  const left = Math.max(30, ...target.map(part => widthOf(shortened(part.label, 24)))) + 2 * GAP;
  const longest = Math.max(20, ...source.map(part => widthOf(shortened(part.label, 24))));
  const top = sound ? GAP : longest * 0.87 + 20;
  const slant = sound ? 0 : longest * 0.5 + 8;
  const column = i => left + (rightToLeft ? source.length - 1 - i : i) * width;
  const right = left + source.length * width;
  const bottom = top + target.length * height;
  const drawing = frame(right + slant + GAP, bottom + (sound ? SPECTROGRAM + 36 : GAP), labelled(alignment));
  const most = sound ? Math.max(0.05, ...weights.map(row => Math.max(...row))) : 1;
  drawing.append(svg("rect", {x: left, y: top, width: right - left, height: bottom - top, class: "ground"}));
  target.forEach((part, j) => {
    const y = top + j * height;
    drawing.append(svg("text", {x: left - GAP, y: y + height / 2 + 5, "text-anchor": "end", class: "name", "data-j": j},
      shortened(part.label, 24)));
    weights[j].forEach((weight, i) => {
      if (sound && weight < 0.005) return;
      const shade = Math.min(1, weight / most).toFixed(3);
      drawing.append(svg("rect", {x: column(i), y, width, height, class: "cell", "fill-opacity": shade, "data-i": i, "data-j": j}));
    });
    for (const stop of alignment.stops[j])
      drawing.append(svg("rect", {x: column(stop) + 1, y: y + 1, width: width - 2, height: height - 2, class: "stop"}));
    const {chunk} = alignment.record;
    if (chunk > 1 && !alignment.byWord && alignment.stops[j].length) {
      const first = Math.max(0, alignment.stops[j][0] - chunk + 1);
      const [from, to] = [column(first), column(alignment.stops[j][0])].sort((a, b) => a - b);
      drawing.append(svg("rect", {x: from, y, width: to - from + width, height, class: "chunk"}));
    }
  });
  if (!sound) source.forEach((part, i) => {
    const every = Math.ceil(16 / width);
    if (i % every) return;
    const x = column(i) + width / 2;
    drawing.append(svg("text", {x, y: top - GAP, transform: `rotate(-60 ${x} ${top - GAP})`, class: "name", "data-i": i},
      shortened(part.label, 24)));
  });
  if (sound) drawing.append(...spectrogram(sound, {left, right, top, bottom}));
  if (delays) drawing.append(...staircase(alignment, {column, width, height, left, right, top, rightToLeft}));
  for (const {i, j, verdict} of alignment.gold ?? [])
    drawing.append(verdictMark(verdict, column(i) + width / 2, top + (j + 0.5) * height));
  return drawing;
}

function spectrogram(sound, {left, right, top, bottom}) {
  const width = right - left;
  const below = bottom + GAP;
  const at = second => left + width * second / sound.seconds;
  const step = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300].find(one => width * one >= 45 * sound.seconds) ?? 600;
  const ticks = Array.from({length: Math.floor(sound.seconds / step) + 1}, (_, n) => n * step);
  return [
    svg("image", {href: sound.image, x: left, y: below, width, height: SPECTROGRAM, preserveAspectRatio: "none"}),
    ...ticks.map(second => svg("text", {x: at(second), y: below + SPECTROGRAM + 16, "text-anchor": "middle", class: "tick"},
      `${Number(second.toFixed(2))}`)),
    svg("text", {x: left + width / 2, y: below + SPECTROGRAM + 32, "text-anchor": "middle", class: "tick"}, "seconds"),
    ...sound.boundaries.map(second => svg("line", {x1: at(second), x2: at(second), y1: top, y2: below + SPECTROGRAM, class: "edge"})),
  ];
}

// The path of reads, along the source, and writes, downwards; what is not read yet is shaded.
function staircase({delays, source}, {column, width, height, left, right, top, rightToLeft}) {
  const edge = read => read === 0 ? (rightToLeft ? right : left) : column(read - 1) + (rightToLeft ? 0 : width);
  let path = `M${edge(0)} ${top}`;
  const shades = [];
  delays.forEach((read, j) => {
    path += ` H${edge(read)} V${top + (j + 1) * height}`;
    const [from, to] = [edge(read), edge(source.length)].sort((a, b) => a - b);
    if (to > from) shades.push(svg("rect", {x: from, y: top + j * height, width: to - from, height, class: "notread"}));
  });
  return [...shades, svg("path", {d: path, class: "stairs"})];
}

// A shape and a colour each, so that they are told apart without colours, over an edge in the colour of the paper.
function verdictMark(verdict, x, y) {
  const [shape, attributes, meaning] = {
    hit: ["circle", {cx: x, cy: y, r: 5}, "gold link, found"],
    miss: ["rect", {x: x - 5, y: y - 5, width: 10, height: 10}, "gold link, missed"],
    false: ["path", {d: `M${x - 5} ${y - 5}l10 10M${x + 5} ${y - 5}l-10 10`}, "link that is not gold"],
  }[verdict];
  return svg("g", {class: "verdict"}, svg("title", {}, meaning), svg(shape, {...attributes, class: "halo"}),
    svg(shape, {...attributes, class: verdict}));
}

// Source words on the left, target words on the right, and curves between them, as wide as their weights.
function links(alignment) {
  const {source, target, weights} = alignment;
  const height = 26;
  const left = Math.max(40, ...source.map(part => widthOf(shortened(part.label, 32)))) + GAP;
  const right = Math.max(40, ...target.map(part => widthOf(shortened(part.label, 32)))) + GAP;
  const between = 180;
  const drawing = frame(left + between + right + 2 * GAP, Math.max(source.length, target.length) * height + GAP, labelled(alignment));
  const middle = index => (index + 0.5) * height;
  const verdicts = new Map((alignment.gold ?? []).map(({i, j, verdict}) => [`${i}-${j}`, verdict]));
  const half = left + between / 2;
  const pathOf = (i, j) => `M${left + GAP} ${middle(i)}C${half} ${middle(i)} ${half} ${middle(j)} ${left + between} ${middle(j)}`;
  const curve = (i, j, attributes) => svg("path", {d: pathOf(i, j), "data-i": i, "data-j": j, ...attributes});
  weights.forEach((row, j) => row.forEach((weight, i) => {
    const verdict = verdicts.get(`${i}-${j}`);
    if (weight >= 0.04 || verdict && verdict !== "miss")
      drawing.append(curve(i, j, {class: `link ${verdict ?? ""}`, "stroke-opacity": Math.max(0.08, weight).toFixed(3),
        "stroke-width": (1 + 3 * weight).toFixed(2)}));
    if (verdict === "miss") drawing.append(curve(i, j, {class: "link missed"}));
    if (verdict) drawing.append(verdictMark(verdict, left + between * 0.88, middle(j) + 0.07 * (middle(i) - middle(j))));
  }));
  source.forEach((part, i) => drawing.append(
    svg("text", {x: left, y: middle(i) + 5, "text-anchor": "end", class: "name", "data-i": i}, shortened(part.label, 32))));
  target.forEach((part, j) => drawing.append(
    svg("text", {x: left + between + GAP, y: middle(j) + 5, class: "name", "data-j": j}, shortened(part.label, 32))));
  return drawing;
}

// The picture, and a panel for each target word, in which what the word did not look at is dark.
function panels(alignment) {
  const {grid: [rows, columns], image} = alignment.onBackdrop;
  const side = 132;
  const across = 5;
  const words = [{label: "", all: true}, ...alignment.target.slice(0, 60)];
  const drawing = frame(across * (side + GAP), Math.ceil(words.length / across) * (side + 26), labelled(alignment));
  words.forEach((part, number) => {
    const x = (number % across) * (side + GAP);
    const y = Math.floor(number / across) * (side + 26) + 20;
    drawing.append(svg("image", {href: image, x, y, width: side, height: side, preserveAspectRatio: "none"}));
    if (part.all) return;
    const j = number - 1;
    const row = alignment.weights[j];
    const full = Math.max(...row, 3 / row.length);
    drawing.append(svg("text", {x, y: y - GAP, class: "name", "data-j": j}, shortened(part.label, 18)));
    row.forEach((weight, i) => {
      const place = {x: x + (i % columns) * side / columns, y: y + Math.floor(i / columns) * side / rows, width: side / columns,
        height: side / rows};
      drawing.append(svg("rect", {...place, class: "shadow", "fill-opacity": (0.85 * (1 - Math.min(1, weight / full))).toFixed(3),
        "data-i": i, "data-j": j}));
      if (alignment.stops[j].includes(i)) drawing.append(svg("rect", {...place, class: "stop"}));
    });
  });
  return drawing;
}

// The drawings that a record has, by name.
function drawingsOf(alignment) {
  const {source, target, onBackdrop} = alignment;
  if (!source.length || !target.length || !alignment.weights.flat().some(weight => weight > 0)) return {};
  if (onBackdrop?.kind === "picture") return {picture: panels};
  return onBackdrop ? {matrix} : {matrix, links};
}

// The same in a table, for who cannot see it.
function tableOf(alignment) {
  const head = ["target word", "looks at", "probability", "could have been"].map(name => html("th", {scope: "col"}, name));
  const rows = alignment.target.map((part, j) => {
    const shares = alignment.weights[j].map((weight, i) => [weight, i]).filter(([weight]) => weight >= 0.01)
      .sort((a, b) => b[0] - a[0]).slice(0, 5).map(([weight, i]) => `${alignment.nameOf("source", i)} ${percent(weight)}`);
    const others = alignment.runnersUp(j).map(([piece, probability]) => `${isolated(piece)} ${percent(probability)}`);
    const cells = [shares.join(", ") || "nothing", percent(alignment.probability(j)), others.join(", ") || "?"];
    return html("tr", {}, html("th", {scope: "row"}, html("bdi", {}, part.label)),
      ...cells.map(text => html("td", {dir: "ltr"}, text)));
  });
  return html("div", {class: "wide"}, html("table", {}, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows)));
}

// Export.

const PAINT = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "opacity", "font-family",
  "font-size"];

// An SVG that needs no style of this page: each element has the paint that it is shown in.
function standalone(drawing) {
  const copy = drawing.cloneNode(true);
  const shown = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, place) => {
    const style = getComputedStyle(shown[place]);
    for (const name of PAINT) node.setAttribute(name, style.getPropertyValue(name));
    node.removeAttribute("class");
  });
  copy.prepend(svg("rect", {width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor}));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

async function asPng(drawing, scale = 2) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(drawing))}`;
  await image.decode();
  const canvas = html("canvas", {width: scale * drawing.width.baseVal.value, height: scale * drawing.height.baseVal.value});
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(done => canvas.toBlob(done, "image/png"));
}

function save(content, name, type = "text/plain") {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  html("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
