// A client for browsers and Node: it answers ldpstats protocol files on the respondent's own device.
//
// What it does, word by word, stands in ../SPECIFICATION.md; ../test_vectors.json holds examples of all of it, and
// ldpstats/client.py is the same client in Python. It has no dependencies: randomness and digests are WebCrypto's.

export const GRID = 1n << 64n; // every probability is a whole number of GRID-ths, every random word is below GRID

const MOST_CELLS = 1 << 22;
const MOST_SYMBOLS = 1 << 16;
const LARGEST_EPSILON = 1_000_000;
const MOST_BYTES = 1 << 23;
const MOST_MARKS = 1 << 20;
const DEEPEST = 32;
const MOST = {
  attributes: 1 << 12,
  mechanisms: 1 << 12,
  units: 1 << 16,
  "rows in a unit": 1 << 12,
  "crossed answers in a row": 1 << 12,
  "values of the mechanisms of a unit": MOST_CELLS,
}; // how much of each a protocol file may have
const DIGEST = "digest against accidents, not attackers";
const WHOLE = ["format", "version", DIGEST, "body"];
const SEALED = new RegExp(`^\\{"format":"ldpstats protocol","version":1,"${DIGEST}":"([0-9a-f]{64})","body":(.*)\\}$`, "s");
const QUOTED = [["\\\\", "\0"], ['\\"', "\x01"]]; // what may stand before a quotation mark, and what JSON allows nowhere
const LONG_NUMBER = /(?:^|[,:[])[-+.0-9A-Za-z]{101}/;
const BODY = ["kind", "fingerprint", "domain", "parameters", "outside", "privacy", "units"];
const MECHANISM = ["name", "k", "epsilon", "probabilities"];
const QUERY = ["format", "version", "protocol", "number", "block", "token", "groups"];
const RECORD = "a respondent's whole record";
const INFINITE = "infinite";
const CERTAIN = "an answer may show for certain that it is true";
const ADAPTIVE = "rrba";
const DIGITS = 352n; // binary digits behind the point of a logarithm
const MARGIN = 1n << 53n; // 2^-299, the first power below 10^-90, and more than all rounding of all logarithms of a file

const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // Node 18 has it in a module only

/** Input that a client does not answer: what came, what is allowed, and what to do. */
export class ClientError extends Error {
  constructor(came, allowed, advice = "") {
    super(`${came}. Allowed: ${allowed}.${advice && ` ${advice}`}`);
    this.name = "ClientError";
    Object.assign(this, { came, allowed, advice });
  }
}

/** Random decisions, each out of 64-bit words of a source: by default the secure randomness of the browser. */
export class Words {
  #source;

  /** `word`, for tests and simulations, returns a BigInt below 2^64 at every call; messages say so. */
  constructor(word) {
    this.simulated = word !== undefined;
    this.#source = word ?? systemWord;
  }

  word() {
    const word = this.#source();
    if (typeof word !== "bigint" || word < 0n || word >= GRID) {
      throw new ClientError(`the random word ${shown(word)}`, "whole numbers from 0 to below 2^64");
    }
    return word;
  }

  /** Decide with probability numerator / GRID, by one word, also where it is certain. */
  chance(numerator) {
    return this.word() < numerator;
  }

  /** Draw one of the whole numbers below a bound, all equally likely. */
  below(bound) {
    const outcomes = BigInt(bound);
    const fair = (GRID / outcomes) * outcomes;
    let word = this.word();
    while (word >= fair) word = this.word();
    return Number(word % outcomes);
  }

  /** Draw the place of a weight, as likely as its weight, by one word; the weights add up to GRID. */
  pick(weights) {
    const word = this.word();
    let upper = 0n;
    let found = 0;
    for (const weight of weights) {
      upper += weight;
      found += upper <= word ? 1 : 0;
    }
    return found;
  }
}

function systemWord() {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return new DataView(bytes.buffer).getBigUint64(0, true);
}

// Mechanisms. Each has k, the number of different reports if these can be read as numbers (null otherwise), the ratio
// [numerator, denominator] that bounds what a report tells (null if nothing does), and a report about a value: a number,
// or bytes.

class RandomizedResponse {
  constructor(k, truth) {
    Object.assign(this, { k, truth });
  }

  static read(plain) {
    plain.refuseOthers([], ["truth"]);
    const k = plain.whole("k", 2);
    if (plain.text("name") === "rr" && k !== 2) {
      throw new ClientError(`the mechanism rr with k = ${k}`, "2 values", "grr takes any number of them.");
    }
    return new RandomizedResponse(k, plain.numerator("truth"));
  }

  get outputs() {
    return BigInt(this.k);
  }

  ratio() {
    return worst(this.truth * BigInt(this.k - 1), GRID - this.truth);
  }

  /** Draw a coin and a lie; both are always drawn. */
  report(value, words) {
    const truthful = words.chance(this.truth);
    const lie = words.below(this.k - 1);
    return truthful ? value : lie + (lie >= value ? 1 : 0);
  }
}

class UnaryBits {
  constructor(k, keep, flip) {
    Object.assign(this, { k, keep, flip });
  }

  static read(plain) {
    plain.refuseOthers([], ["keep", "flip"]);
    return new UnaryBits(plain.whole("k", 2), plain.numerator("keep"), plain.numerator("flip"));
  }

  get outputs() {
    return 1n << BigInt(Math.min(this.k, 65)); // more than any report holds
  }

  ratio() {
    return worst(this.keep * (GRID - this.flip), (GRID - this.keep) * this.flip);
  }

  /** Draw the bits in order; the first is the highest of the first byte, and those left over are 0. */
  report(value, words) {
    const packed = new Uint8Array((this.k + 7) >> 3);
    for (let place = 0; place < this.k; place++) {
      if (words.chance(place === value ? this.keep : this.flip)) packed[place >> 3] |= 128 >> (place & 7);
    }
    return packed;
  }
}

class Subset {
  constructor(k, omega, holds) {
    Object.assign(this, { k, omega, holds });
  }

  static read(plain) {
    plain.refuseOthers(["omega"], ["holds"]);
    const k = plain.whole("k", 2);
    return new Subset(k, plain.whole("omega", 1, k - 1), plain.numerator("holds"));
  }

  get outputs() {
    return null;
  }

  ratio() {
    return worst(this.holds * BigInt(this.k - this.omega), (GRID - this.holds) * BigInt(this.omega));
  }

  /** Go through the other values in order, and take each with the chance that the places left give it. */
  report(value, words) {
    const holds = words.chance(this.holds);
    const members = holds ? [value] : [];
    let needed = this.omega - members.length;
    let left = this.k - 1;
    for (let other = 0; other < this.k; other++) {
      if (other === value) continue;
      if (words.below(left) < needed) {
        members.push(other);
        needed--;
      }
      left--;
    }
    members.sort((one, other) => one - other);
    const width = this.k <= 1 << 8 ? 1 : this.k <= 1 << 16 ? 2 : 4;
    return joined(members.map((member) => littleEndian(BigInt(member), width)));
  }
}

class HashedResponse {
  constructor(k, symbols, truth) {
    Object.assign(this, { k, symbols, answered: new RandomizedResponse(symbols, truth) });
  }

  static read(plain) {
    plain.refuseOthers(["symbols"], ["truth"]);
    return new HashedResponse(plain.whole("k", 2), plain.whole("symbols", 2, MOST_SYMBOLS), plain.numerator("truth"));
  }

  get outputs() {
    return null;
  }

  ratio() {
    return this.answered.ratio();
  }

  /** Draw the function's two words, then the answer about the symbol. */
  report(value, words) {
    const factor = words.word();
    const offset = words.word();
    const symbol = Number((hashValue(factor, offset, value) * BigInt(this.symbols)) >> 32n);
    const answer = this.answered.report(symbol, words);
    const width = this.symbols <= 1 << 8 ? 1 : 2;
    return joined([littleEndian(factor, 8), littleEndian(offset, 8), littleEndian(BigInt(answer), width)]);
  }
}

/** Return 32 bits: the upper half of an affine map modulo 2^64, scattered by a bijection. */
export function hashValue(factor, offset, value) {
  const half = (1n << 32n) - 1n;
  let bits = ((factor * BigInt(value) + offset) & (GRID - 1n)) >> 32n;
  bits ^= bits >> 16n;
  bits = (bits * 0x7feb352dn) & half;
  bits ^= bits >> 15n;
  bits = (bits * 0x846ca68bn) & half;
  return bits ^ (bits >> 16n);
}

class HadamardOutput {
  constructor(k, blocks, size, inside) {
    const half = size / 2;
    Object.assign(this, { k, size, inside, half, outputs: BigInt(blocks * size), others: blocks * size - half });
  }

  static read(plain) {
    plain.refuseOthers(["blocks", "size"], ["inside"]);
    const [k, blocks, size] = [plain.whole("k", 2), plain.whole("blocks", 1), plain.whole("size", 2)];
    if ((size & (size - 1)) !== 0 || blocks * (size - 1) < k) {
      throw new ClientError(
        `the mechanism hr with ${blocks} blocks of ${size} outputs for ${k} values`,
        "blocks of a power of two, with an output less than that for each of their values",
      );
    }
    return new HadamardOutput(k, blocks, size, plain.numerator("inside"));
  }

  ratio() {
    return worst(this.inside * BigInt(this.others), (GRID - this.inside) * BigInt(this.half));
  }

  /** Draw a coin, an output of the own set, and one of all others; all three are always drawn. */
  report(value, words) {
    const inside = words.chance(this.inside);
    const near = words.below(this.half);
    const other = words.below(this.others);
    const row = (value % (this.size - 1)) + 1;
    const start = Math.floor(value / (this.size - 1)) * this.size;
    if (inside) return start + column(row, near, false);
    if (other < this.half) return start + column(row, other, true);
    const elsewhere = other - this.half;
    return elsewhere + (elsewhere >= start ? this.size : 0);
  }
}

/** Return the column of this number among those where the row of the Hadamard matrix has this sign.
 *
 * The number gives all binary digits but one, for which the row has a one: that digit sets the sign. */
function column(row, number, negative) {
  const digit = row & -row;
  const low = number & (digit - 1);
  const found = 2 * (number - low) + low;
  let odd = false;
  for (let bits = row & found; bits !== 0; bits &= bits - 1) odd = !odd;
  return odd === negative ? found : found + digit;
}

class FakeOrTruth {
  constructor(truth, fake) {
    Object.assign(this, { k: fake.length, truth, fake });
  }

  static read(plain) {
    plain.refuseOthers([], ["truth", "fake"]);
    const read = FakeOrTruth.stated(plain.named("probabilities"));
    if (plain.whole("k", 2) !== read.k) {
      throw new ClientError(`${read.k} fakes for ${plain.get("k")} values`, "a fake for every value");
    }
    return read;
  }

  /** Read the chances themselves; nothing but these may be certain. */
  static stated(plain) {
    const truth = gridNumber(plain.get("truth"), "truth", 1n, GRID);
    const fake = plain.sequence("fake").map((one) => gridNumber(one, "fake", 0n, GRID));
    const total = fake.reduce((sum, one) => sum + one, 0n);
    if (fake.length < 2 || total !== GRID) {
      throw new ClientError(`${fake.length} fakes that add up to ${total}`, `at least 2 that add up to ${GRID}`);
    }
    return new FakeOrTruth(truth, fake);
  }

  get outputs() {
    return BigInt(this.k);
  }

  get rarest() {
    return this.fake.reduce((least, one) => (one < least ? one : least));
  }

  ratio() {
    const faked = (GRID - this.truth) * this.rarest;
    return faked === 0n ? null : [this.truth * GRID + faked, faked];
  }

  /** Draw a coin and a fake; both are always drawn. */
  report(value, words) {
    const truthful = words.chance(this.truth);
    const fake = words.pick(this.fake);
    return truthful ? value : fake;
  }
}

class GivenRows {
  constructor(rows) {
    Object.assign(this, { k: rows.length, rows, outputs: BigInt(rows[0].length) });
  }

  /** Read an entry of a protocol file; the names of values and outputs change nothing. */
  static read(plain) {
    plain.refuseNames(MECHANISM, ["values", "outputs"]);
    const given = plain.named("probabilities");
    given.refuseNames(["rows"]);
    const [k, all] = [plain.whole("k", 2), given.sequence("rows")];
    if (all.length !== k) throw new ClientError(`${all.length} rows for ${k} values`, "a row for every value");
    const rows = all.map((row) => sequence(row, "a row").map((one) => gridNumber(one, "rows", 0n, GRID)));
    const outputs = rows[0].length;
    for (const row of rows) {
      const total = row.reduce((sum, one) => sum + one, 0n);
      if (row.length !== outputs || total !== GRID) {
        const came = `a row of ${row.length} outputs that add up to ${total}`;
        throw new ClientError(came, `${outputs} that add up to ${GRID}`);
      }
    }
    const idle = rows[0].findIndex((_, output) => rows.every((row) => row[output] === 0n));
    if (idle >= 0) throw new ClientError(`the output ${idle} that no value sends`, "outputs that some value sends");
    for (const [what, number] of [["values", k], ["outputs", outputs]]) {
      if (plain.has(what) && plain.sequence(what).length !== number) {
        const came = `the names of ${plain.get(what).length} ${what}`;
        throw new ClientError(came, `a name for each of the ${number}`);
      }
    }
    return new GivenRows(rows);
  }

  /** The largest ratio of two numbers in one column; null where only one of them is 0. */
  ratio() {
    let [numerator, denominator] = [1n, 1n];
    for (let output = 0; output < this.rows[0].length; output++) {
      let [least, most] = [GRID, 0n];
      for (const row of this.rows) {
        if (row[output] < least) least = row[output];
        if (row[output] > most) most = row[output];
      }
      if (least === 0n) return null;
      if (most * denominator > numerator * least) [numerator, denominator] = [most, least];
    }
    return [numerator, denominator];
  }

  /** Draw an output by the row of the value. */
  report(value, words) {
    return words.pick(this.rows[value]);
  }
}

const RANDOMIZERS = new Map([
  ["rr", RandomizedResponse],
  ["grr", RandomizedResponse],
  ["sue", UnaryBits],
  ["oue", UnaryBits],
  ["ss", Subset],
  ["olh", HashedResponse],
  ["hr", HadamardOutput],
  ["truth or fake", FakeOrTruth],
  ["channel", GivenRows],
]);

/** Return a ratio or its inverse, whichever is larger. */
function worst(numerator, denominator) {
  return numerator >= denominator ? [numerator, denominator] : [denominator, numerator];
}

function littleEndian(number, width) {
  return Uint8Array.from({ length: width }, (_, place) => Number((number >> BigInt(8 * place)) & 255n));
}

function joined(parts) {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

/** Read a mechanism as protocol files write it; one that clients do not know is refused by name. */
export function randomizer(mechanism) {
  const plain = new Named(mechanism, "a mechanism");
  const name = plain.text("name");
  if (!RANDOMIZERS.has(name)) {
    const known = [...RANDOMIZERS.keys()].join(", ");
    const advice = "Answer with a client that knows it, such as ldpstats itself.";
    throw new ClientError(`the mechanism ${shown(name)}`, `what clients know: ${known}`, advice);
  }
  return RANDOMIZERS.get(name).read(plain);
}

/** Return a report as messages carry it: a number, or hexadecimal text. */
export function written(report) {
  if (typeof report === "number") return report;
  return Array.from(report, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Respondents.

/** A device that answers one protocol, once: asked again, it returns the very same message.
 *
 * It refuses a file that was altered, that asks for what it does not know, or whose mechanisms would tell more than the
 * level that the file states. Whether what it states is enough is for the respondent to say, before she answers:
 * `epsilon` and `certain`, and of a protocol that sends queries `p`. A device that forgets its message may be asked
 * twice, and then levels add up: store the message before it leaves the device. */
export class Respondent {
  #words;
  #message;
  #asked;
  #drawing = false;

  /** `Respondent.of(text)` makes one of a protocol file's text. */
  static async of(text, word) {
    return new Respondent(await readProtocol(text), word);
  }

  constructor(questionnaire, word) {
    this.questionnaire = questionnaire;
    this.#words = new Words(word);
  }

  /** The strict level of the whole record: what the file promises, and what was checked. */
  get epsilon() {
    return this.questionnaire.epsilon;
  }

  /** The most often that a query may ask for the truth about a group; undefined of a protocol without queries. */
  get p() {
    const { truth } = this.questionnaire;
    return truth === undefined ? undefined : Number(truth) / 2 ** 64;
  }

  /** Whether an answer may show something for certain; where queries ask, the truth as often as `p` says. */
  get certain() {
    return this.epsilon === Infinity;
  }

  /** Return the message that is sent: JSON in one line. */
  answer(record, token) {
    return Respondent.#once(this, undefined, () =>
      this.#answered(checkedRecord(record), token === undefined ? token : checkedToken(token)),
    );
  }

  /** Return the answer to a query of a protocol that sends them (rrba); a second, other query is refused. */
  answerQuery(query, record) {
    return Respondent.#once(this, query, () => this.#queryAnswered(query, checkedRecord(record)));
  }

  /** Return the message, which is drawn where there is none yet: by the respondent herself, one call at a time. */
  static #once(own, query, draw) {
    if (!(#message in own)) {
      throw new ClientError("a copy of a respondent", "the one that there is: two could give two answers");
    }
    if (own.#drawing) throw new ClientError("a respondent who is asked while she answers", "one call after the other");
    if (own.#message === undefined) {
      own.#drawing = true;
      try {
        [own.#message, own.#asked] = [draw(), query];
      } finally {
        own.#drawing = false;
      }
    } else if (own.#asked !== query) {
      throw new ClientError("a second query", "one, which may be repeated as it was: levels add up");
    }
    return own.#message;
  }

  #answered(record, token) {
    const [asked, words] = [this.questionnaire, this.#words];
    if (asked.kind === ADAPTIVE) {
      throw new ClientError(`a protocol of the kind ${shown(asked.kind)}`, "queries", "It sends them.");
    }
    const known = asked.outside === "refuse" ? codesOf(asked, record) : undefined;
    const unit = words.below(asked.units.length);
    const codes = known ?? codesOf(asked, record, words);
    const reports = asked.units[unit].map((row) => rowReport(row, codes, words));
    const said = { format: "ldpstats answer", version: 1, protocol: asked.fingerprint, unit, reports };
    return JSON.stringify({ ...said, simulated: words.simulated, token });
  }

  #queryAnswered(text, record) {
    const [asked, words] = [this.questionnaire, this.#words];
    if (asked.kind !== ADAPTIVE) {
      throw new ClientError(`a query about a protocol of the kind ${shown(asked.kind)}`, "a query of rrba");
    }
    const { said, groups } = readQuery(asked, text);
    const codes = codesOf(asked, record, asked.outside === "refuse" ? undefined : words);
    const cells = groups.map((group) => groupReport(group, codes, words));
    return JSON.stringify({ ...said, cells, simulated: words.simulated });
  }
}

/** Return the number of every answer; where random ones are substituted, each question takes a draw. */
function codesOf(asked, record, words) {
  const plain = (answer) => largeNumber(answer) ?? answer;
  const given = (name) => (Object.hasOwn(record, name) ? plain(record[name]) : undefined);
  const found = asked.domain.map(({ name, categories }) => categories.indexOf(given(name)));
  if (words !== undefined) {
    const drawn = asked.domain.map(({ categories }) => words.below(categories.length));
    return found.map((place, number) => (place < 0 ? drawn[number] : place));
  }
  found.forEach((place, number) => {
    const { name, categories } = asked.domain[number];
    if (place < 0) {
      const came = Object.hasOwn(record, name) ? `the answer ${shown(record[name])} about` : "a record without";
      const advice = "Nothing was answered. Ask the respondent again.";
      throw new ClientError(`${came} ${shown(name)}`, listed(categories), advice);
    }
  });
  return found;
}

/** Return the true answer of a record: its cell, in which the last attribute varies fastest, or that cell's answer. */
function trueAnswer(group, codes) {
  const cell = group.places.reduce((sum, place, number) => sum * group.sizes[number] + codes[place], 0);
  return group.answers === undefined ? cell : group.answers[cell];
}

function groupReport(group, codes, words) {
  return group.mechanism.report(trueAnswer(group, codes), words);
}

/** Draw what is sent about a record: one answer, or several ones that travel together, each as a number. */
function rowReport(row, codes, words) {
  const reports = row.groups.map((group) => groupReport(group, codes, words));
  if (row.width === undefined) return written(reports[0]);
  return written(joined(reports.map((report, place) => littleEndian(asNumber(report, row.groups[place]), row.width))));
}

/** Return a report as a number: bits are read as a binary one that begins with the first value's. */
function asNumber(report, group) {
  if (typeof report === "number") return BigInt(report);
  return report.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n) >> BigInt(8 * report.length - group.mechanism.k);
}

/** Read a protocol file and check all of it; a file that does not hold what clients know is refused. */
export async function readProtocol(text) {
  const body = new Named(await bodyOf(text), "a protocol file");
  const kind = body.text("kind");
  if (!body.has("units")) {
    throw new ClientError(`a protocol of the kind ${shown(kind)} without units`, "units that respondents answer");
  }
  body.refuseNames(kind === ADAPTIVE ? BODY : [...BODY, "mechanisms"]);
  const [fingerprint, outside] = [body.text("fingerprint"), body.text("outside")];
  if (!/^p[0-9a-f]{12}$/.test(fingerprint)) {
    throw new ClientError(`the fingerprint ${shown(fingerprint)}`, "the letter p and 12 hexadecimal digits");
  }
  if (outside !== "refuse" && outside !== "random") {
    throw new ClientError(`outside = ${shown(outside)}`, "refuse or random");
  }
  body.named("parameters");
  const domain = readDomain(body.sequence("domain"));
  const privacy = body.named("privacy");
  const epsilon = promisedLevel(privacy);
  const units = readUnits(body, domain, kind === ADAPTIVE);
  const read = { kind, fingerprint, domain, outside, epsilon, units };
  if (kind === ADAPTIVE) {
    refuseAskedTwice(units);
    const truth = gridNumber(privacy.get("truth"), "truth", 1n, GRID - 1n);
    const floor = gridNumber(privacy.get("floor"), "floor", 0n, GRID);
    return Object.freeze({ ...read, truth, floor });
  }
  refuseAbove(units.map((unit) => unit.flatMap((row) => row.groups)), epsilon);
  return Object.freeze(read);
}

/** Return the body of a protocol file that is whole. */
async function bodyOf(text) {
  const plain = parsed(text, "a protocol file");
  refuseOtherFormats(plain, "protocol");
  refuseTooMany(plain.body);
  const sealed = SEALED.exec(withoutSpaces(text));
  const names = Object.keys(plain).sort();
  if (sealed === null || names.length !== WHOLE.length) {
    throw new ClientError(`a protocol file with ${listed(names)}`, `${listed(WHOLE)}, in this order`);
  }
  if ((await sha256(sealed[2])) !== sealed[1]) {
    const came = "a protocol file whose digest is that of another body";
    throw new ClientError(came, "a file as it was written", "Fetch it again.");
  }
  return plain.body;
}

/** Refuse more of anything than a protocol file may have, before any of it is read. */
function refuseTooMany(body) {
  const listsIn = (plain, name) => (Array.isArray(plain?.[name]) ? plain[name] : []);
  const wholeIn = (plain, name, most) => {
    const found = plain?.[name];
    return Number.isInteger(found) && found >= 0 && found <= most ? found : undefined;
  };
  const [attributes, mechanisms, units] = ["domain", "mechanisms", "units"].map((name) => listsIn(body, name));
  const rows = units.filter((unit) => Array.isArray(unit));
  const crossed = (row) => (listsIn(row, "crossed").length > 0 ? row.crossed : [row]);
  const most = (numbers) => numbers.reduce((largest, one) => Math.max(largest, one), 0);
  const rowsOf = (one) => listsIn(one?.probabilities, "rows").filter((row) => Array.isArray(row));
  const sizes = mechanisms.map((one) =>
    most([wholeIn(one, "k", MOST_CELLS) ?? 0, ...rowsOf(one).map((row) => row.length)]),
  );
  const valuesOf = (row) =>
    crossed(row).reduce((sum, one) => sum + (sizes[wholeIn(one, "mechanism", sizes.length - 1) ?? -1] ?? 0), 0);
  const found = [
    attributes.length,
    mechanisms.length,
    units.length,
    most(rows.map((unit) => unit.length)),
    most(rows.map((unit) => most(unit.map((row) => crossed(row).length)))),
    most(rows.map((unit) => unit.reduce((sum, row) => sum + valuesOf(row), 0))),
  ];
  Object.entries(MOST).forEach(([what, allowed], place) => {
    if (found[place] > allowed) throw new ClientError(`a protocol file with ${found[place]} ${what}`, `up to ${allowed}`);
  });
}

/** Refuse what is of another format or version. */
function refuseOtherFormats(plain, kind) {
  const said = kindOf(plain) === "object" ? (plain.format ?? null) : plain;
  if (said !== `ldpstats ${kind}`) {
    throw new ClientError(`a file of the format ${shown(said)}`, `the format ldpstats ${kind}`);
  }
  if (plain.version !== 1) {
    const advice = "Write it anew with ldpstats; a newer version needs a newer client.";
    throw new ClientError(`a ${kind} of version ${shown(plain.version ?? null)}`, "version 1", advice);
  }
}

async function sha256(text) {
  if (crypto?.subtle === undefined) {
    throw new ClientError("a page without crypto.subtle", "pages that came over https, or from a file");
  }
  return written(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

function readDomain(plain) {
  const attributes = plain.map((given) => {
    const one = new Named(given, "an attribute");
    one.refuseNames(["name", "categories"], ["ordered", "scores"]);
    const [name, written] = [one.text("name"), one.sequence("categories")];
    refuseWrongOrder(one, written.length);
    const categories = written.map(categoryOf);
    if (categories.length === 0 || categories.includes(undefined) || new Set(categories).size < categories.length) {
      throw new ClientError(
        `the categories ${listed(written)} of ${shown(name)}`,
        "different texts, truth values or numbers, of which whole ones from 2^53 on are texts of digits",
      );
    }
    return { name, categories };
  });
  const names = attributes.map(({ name }) => name);
  if (names.length === 0 || new Set(names).size < names.length) {
    throw new ClientError(`the attributes ${listed(names)}`, "at least one, each of them once");
  }
  return attributes;
}

/** Refuse an order of categories that is none: it changes no answer, but a file that says it must say it rightly. */
function refuseWrongOrder(attribute, categories) {
  if (!attribute.has("ordered") && !attribute.has("scores")) return;
  const scores = attribute.has("scores") ? attribute.sequence("scores") : [...Array(categories).keys()];
  const proper = scores.every((score) => kindOf(score) === "number") && scores.length === categories;
  const ascending = proper && scores.every((score, place) => place === 0 || scores[place - 1] < score);
  if (attribute.plain.ordered !== true || !ascending) {
    const said = `ordered = ${shown(attribute.plain.ordered ?? null)} with scores ${listed(scores)}`;
    const allowed = "true, and scores that ascend, one for each category";
    throw new ClientError(`${said} of ${shown(attribute.plain.name)}`, allowed);
  }
}

function readUnits(body, domain, adaptive) {
  const mechanisms = adaptive ? undefined : body.sequence("mechanisms").map((one) => randomizer(one));
  const known = new Map(domain.map(({ name, categories }, place) => [name, { place, size: categories.length }]));
  const units = body
    .sequence("units")
    .map((unit) => sequence(unit, "a unit").map((row) => readRow(new Named(row, "a row"), known, mechanisms)));
  if (units.length === 0 || units.some((unit) => unit.length === 0)) {
    const came = `${units.length} units, or one of them without rows`;
    throw new ClientError(came, "at least one unit, each with a row");
  }
  return units;
}

function readRow(row, known, mechanisms) {
  if (!row.has("crossed")) return { groups: [readGroup(row, known, mechanisms, ["group"])] };
  row.refuseNames(["group", "crossed", "bytes"]);
  const crossed = row.sequence("crossed").map((one) => new Named(one, "a crossed answer"));
  const groups = crossed.map((one) => readGroup(one, known, mechanisms));
  const width = row.whole("bytes", 1, 8);
  const outputs = groups.map((group) => group.mechanism?.outputs ?? null);
  if (groups.length === 0 || outputs.some((number) => number === null || number > 1n << BigInt(8 * width))) {
    throw new ClientError(
      `the row ${shown(row.text("group"))} of crossed answers that are no numbers of ${width} bytes`,
      `answers that are numbers of ${width} bytes, or as many bits`,
    );
  }
  return { groups, width };
}

function readGroup(plain, known, mechanisms, names = []) {
  const adaptive = mechanisms === undefined;
  plain.refuseNames(["attributes", ...names, ...(adaptive ? [] : ["mechanism"])], adaptive ? [] : ["answers"]);
  const attributes = ofDomain(known, plain.sequence("attributes"));
  const [places, sizes] = [attributes.map(({ place }) => place), attributes.map(({ size }) => size)];
  const cells = product(sizes);
  const mechanism = mechanisms?.[plain.whole("mechanism", 0, mechanisms.length - 1)];
  const answers = plain.has("answers") ? plain.sequence("answers") : undefined;
  const k = mechanism === undefined ? cells : mechanism.k;
  if (cells > MOST_CELLS) {
    throw new ClientError(`a question about ${listed(plain.get("attributes"))}`, `up to ${MOST_CELLS} cells`);
  }
  if (!covers(answers, cells, k)) {
    throw new ClientError(
      `a question about ${listed(plain.get("attributes"))} with ${cells} cells and ${k} answers`,
      "an answer for every cell, and as many answers as its mechanism has values",
    );
  }
  return { places, sizes, answers, mechanism };
}

function ofDomain(known, names) {
  const found = names.map((name) => known.get(name)).filter((one) => one !== undefined);
  if (names.length === 0 || new Set(found).size < names.length) {
    throw new ClientError(`a row about ${listed(names)}`, `different ones of ${listed([...known.keys()])}`);
  }
  return found;
}

/** Say whether every cell has an answer, and every answer a cell. */
function covers(answers, cells, k) {
  if (answers === undefined) return k === cells;
  const known = answers.every((one) => Number.isInteger(one) && one >= 0 && one < k);
  return answers.length === cells && known && new Set(answers).size === k;
}

/** Refuse units of queries that ask twice about an attribute: the truth would be told more often than promised. */
function refuseAskedTwice(units) {
  for (const unit of units) {
    const places = unit.flatMap((row) => row.groups.flatMap((group) => group.places));
    if (new Set(places).size < places.length) {
      throw new ClientError("a unit that asks twice about an attribute", "groups without common attributes");
    }
  }
}

/** Return the level that a file states for a respondent's whole record, which may be infinite.
 *
 * Then an answer that not everybody can give shows something for certain: such a file says so in words, and no other. */
function promisedLevel(privacy) {
  const [unit, level] = [privacy.text("unit"), privacy.get("epsilon")];
  if (unit !== RECORD) throw new ClientError(`a level of ${shown(unit)}`, `one of ${RECORD}`);
  const infinite = level === INFINITE;
  const said = privacy.has("certain") ? [privacy.get("certain")] : [];
  if (infinite ? said[0] !== CERTAIN : said.length > 0) {
    throw new ClientError(
      `the level ${shown(level)} with certain = ${listed(said)}`,
      `${INFINITE} with certain = ${shown(CERTAIN)}, or a number without it`,
    );
  }
  if (infinite) return Infinity;
  if (kindOf(level) !== "number" || level < 0 || level > LARGEST_EPSILON) {
    throw new ClientError(`the level ${shown(level)}`, `a number from 0 to ${LARGEST_EPSILON}, or ${INFINITE}`);
  }
  return level;
}

// Levels: whole numbers alone, so that a ratio is compared with e^epsilon to ninety digits, as in Python.

/** Refuse groups of which some, answered together, could tell more than is promised. */
function refuseAbove(units, promised) {
  if (promised === Infinity) return;
  const known = new Map();
  for (const mechanism of new Set(units.flat().map((group) => group.mechanism))) {
    const ratio = mechanism.ratio();
    known.set(mechanism, ratio === null ? null : logarithm(...ratio));
  }
  const bounded = ![...known.values()].includes(null);
  const levelOf = (unit) => unit.reduce((sum, { mechanism }) => sum + known.get(mechanism), 0n);
  const level = bounded ? units.map(levelOf).reduce((most, one) => (one > most ? one : most)) : null;
  if (!bounded || (level > 0n && level + MARGIN > fixedPoint(promised))) {
    const came = `randomization at the level ${bounded ? millionths(level) : "infinity"}`;
    const advice = "Nothing was answered: the file promises more privacy than it keeps.";
    throw new ClientError(came, `at most the promised ${shown(promised)}`, advice);
  }
}

/** Print a number of 2^-352ths with six digits behind its point. */
function millionths(number) {
  const rounded = (number * 1_000_000n + (1n << (DIGITS - 1n))) >> DIGITS;
  return `${rounded / 1_000_000n}.${String(rounded % 1_000_000n).padStart(6, "0")}`;
}

/** Return ln(numerator / denominator) in 2^-352ths, off by less than 2^-330: 2 artanh((m - 1) / (m + 1)), and digits. */
function logarithm(numerator, denominator) {
  const shift = BigInt(numerator.toString(2).length - denominator.toString(2).length);
  const other = denominator << shift; // numerator >= denominator
  return twiceArtanh(numerator - other, numerator + other) + shift * twiceArtanh(1n, 3n);
}

/** Return 2 artanh(numerator / denominator) in 2^-352ths; at 1/3 that is ln 2. */
function twiceArtanh(numerator, denominator) {
  let power = (numerator << (DIGITS + 1n)) / denominator;
  let sum = 0n;
  for (let odd = 1n; power !== 0n; odd += 2n) {
    sum += power / odd;
    power = (power * numerator * numerator) / (denominator * denominator);
  }
  return sum;
}

/** Return a double in 2^-352ths, rounded down where it has further digits. */
function fixedPoint(number) {
  let [scaled, exponent] = [number, 0n];
  while (scaled !== 0 && !Number.isInteger(scaled)) {
    scaled *= 2;
    exponent += 1n;
  }
  return (BigInt(scaled) << DIGITS) >> exponent;
}

// Queries.

/** Read a query of a protocol that sends them; return what its answer begins with, and the groups to answer.
 *
 * A query is refused that is about other groups than a unit's, asks for the truth more often, makes a fake rarer or
 * exceeds the level than the protocol promises. */
function readQuery(asked, text) {
  const query = new Named(parsed(text, "a query"), "a query");
  refuseOtherFormats(query.plain, "RRBA query");
  query.refuseNames(QUERY);
  if (query.text("protocol") !== asked.fingerprint) {
    throw new ClientError(`a query of the protocol ${shown(query.get("protocol"))}`, `one of ${asked.fingerprint}`);
  }
  const [number, block] = ["number", "block"].map((name) => query.whole(name, 0, Number.MAX_SAFE_INTEGER));
  const said = { format: "ldpstats RRBA answer", version: 1, protocol: asked.fingerprint, number, block };
  const [all, most] = [query.sequence("groups"), MOST["rows in a unit"]];
  if (all.length > most) throw new ClientError(`a query with ${all.length} groups`, `up to ${most}`);
  const known = new Map(asked.domain.map(({ name }, place) => [name, place]));
  const groups = all.map((one) => askedGroup(asked, known, new Named(one, "a group of a query")));
  const places = JSON.stringify(groups.map((group) => group.places));
  const placesOfUnit = (unit) => JSON.stringify(unit.flatMap((row) => row.groups.map((group) => group.places)));
  if (!asked.units.some((unit) => placesOfUnit(unit) === places)) {
    throw new ClientError("a query about other groups than those of a unit", "all groups of one unit, in their order");
  }
  refuseAbove([groups], asked.epsilon);
  return { said: { ...said, token: checkedToken(query.text("token")) }, groups };
}

function askedGroup(asked, known, group) {
  group.refuseNames(["domain", "truth", "fake"]);
  const attributes = readDomain(group.sequence("domain"));
  const mechanism = FakeOrTruth.stated(group);
  const places = attributes.map(({ name }) => known.get(name));
  if (!attributes.every((one, number) => places[number] !== undefined && isSame(asked.domain[places[number]], one))) {
    const came = `a group about ${listed(attributes.map(({ name }) => name))}`;
    throw new ClientError(came, "the protocol's own attributes");
  }
  const sizes = attributes.map(({ categories }) => categories.length);
  if (mechanism.k !== product(sizes)) {
    throw new ClientError(`${mechanism.k} fakes for ${product(sizes)} cells`, "a fake for every cell");
  }
  refuseBrokenPromise(asked, mechanism);
  return { places, sizes, mechanism };
}

function isSame(one, other) {
  const [known, asked] = [one.categories, other.categories];
  const alike = known.length === asked.length && known.every((category, place) => category === asked[place]);
  return one.name === other.name && alike;
}

/** Refuse more truth than promised, fakes below the floor, and answers that nobody else can give. */
function refuseBrokenPromise(asked, told) {
  const least = asked.floor / BigInt(told.k);
  const advice = "Nothing was answered: the query tells more than the file promises.";
  if (told.truth > asked.truth) {
    const allowed = `at most the promised ${asked.truth} / 2^64`;
    throw new ClientError(`a query that asks for the truth with probability ${told.truth} / 2^64`, allowed, advice);
  }
  if (told.rarest === 0n && asked.epsilon < Infinity) {
    throw new ClientError("a query with an answer that would be the truth for certain", "none that is", advice);
  }
  if (told.rarest < least) {
    const allowed = `at least ${least} / 2^64, by the promised floor`;
    throw new ClientError(`a query with a fake of probability ${told.rarest} / 2^64`, allowed, advice);
  }
}

// Plain values.

/** An object of a file: values by name, of the kind that is asked for, or an error that names them. */
class Named {
  constructor(plain, what) {
    if (kindOf(plain) !== "object") throw new ClientError(`${what} that is ${shown(plain)}`, "an object with names");
    Object.assign(this, { plain, what });
  }

  has(name) {
    return Object.hasOwn(this.plain, name);
  }

  get(name) {
    if (!this.has(name)) throw new ClientError(`${this.what} without ${name}`, `${this.what} with ${name}`);
    return this.plain[name];
  }

  text(name) {
    return ofKind(this.get(name), "text", `${name} of ${this.what}`);
  }

  named(name) {
    return new Named(this.get(name), name);
  }

  sequence(name) {
    return sequence(this.get(name), `${name} of ${this.what}`);
  }

  whole(name, least, most = MOST_CELLS) {
    const value = this.get(name);
    if (!Number.isInteger(value) || value < least || value > most) {
      throw new ClientError(`${name} = ${shown(value)} in ${this.what}`, `whole numbers from ${least} to ${most}`);
    }
    return value;
  }

  numerator(name) {
    return gridNumber(this.named("probabilities").get(name), name, 1n, GRID - 1n);
  }

  /** Refuse an object that lacks a name, or has one that this client does not know. */
  refuseNames(known, optional = []) {
    const sorted = [...known].sort();
    for (const name of sorted.filter((one) => !this.has(one))) {
      throw new ClientError(`${this.what} without ${name}`, listed(sorted));
    }
    const others = Object.keys(this.plain).filter((one) => !known.includes(one) && !optional.includes(one));
    for (const name of others.sort()) {
      throw new ClientError(`${this.what} with ${shown(name)}`, listed(sorted), "A newer client may know it.");
    }
  }

  /** Refuse a mechanism with other options or probabilities than these. */
  refuseOthers(options, probabilities) {
    this.refuseNames([...MECHANISM, ...options]);
    this.named("probabilities").refuseNames(probabilities);
  }
}

/** Read a probability: a whole number of GRID-ths as a decimal text. */
function gridNumber(text, name, least, most) {
  const number = typeof text === "string" && /^(0|[1-9][0-9]{0,19})$/.test(text) ? BigInt(text) : -1n;
  if (number < least || number > most) {
    throw new ClientError(`${name} = ${shown(text)}`, `whole numbers from ${least} to ${most}, as decimal texts`);
  }
  return number;
}

function ofKind(value, kind, where) {
  if (kindOf(value) !== kind) throw new ClientError(`${where} that is ${shown(value)}`, `a ${kind}`);
  return value;
}

function sequence(value, what) {
  return ofKind(value, "list", what);
}

/** Return what a plain value is; an empty text for a number that is not finite, and for anything else. */
function kindOf(value) {
  if (Array.isArray(value)) return "list";
  if (typeof value === "number") return Number.isFinite(value) ? "number" : "";
  const kinds = { boolean: "truth value", string: "text", object: value === null ? "" : "object" };
  return kinds[typeof value] ?? "";
}

/** Return the category that is written so: one in every language, of which some round whole numbers from 2^53 on. */
function categoryOf(written) {
  if (kindOf(written) === "number") return Math.abs(written) <= Number.MAX_SAFE_INTEGER ? written : undefined;
  return kindOf(written) === "text" || kindOf(written) === "truth value" ? written : largeNumber(written);
}

/** Return a whole number from 2^53 on that is written as an object with its digits. */
function largeNumber(written) {
  if (kindOf(written) !== "object" || Object.keys(written).join() !== "int") return undefined;
  const digits = written.int;
  if (typeof digits !== "string" || !/^-?[1-9][0-9]{15,99}$/.test(digits)) return undefined;
  const number = BigInt(digits);
  return number > Number.MAX_SAFE_INTEGER || number < Number.MIN_SAFE_INTEGER ? number : undefined;
}

function product(sizes) {
  return sizes.reduce((product, size) => product * size, 1);
}

function checkedRecord(record) {
  if (kindOf(record) !== "object") {
    const allowed = "an object with the answer to every question, by name";
    throw new ClientError(`the record ${shown(record)}`, allowed);
  }
  return record;
}

function checkedToken(token) {
  if (typeof token !== "string" || !/^[!-~]{1,200}$/.test(token)) {
    throw new ClientError(`the token ${shown(token)}`, "1 to 200 printable ASCII characters without spaces");
  }
  return token;
}

/** Parse JSON; what is too large is refused before, and so are names that stand twice. */
function parsed(text, what) {
  if (typeof text !== "string") throw new ClientError(`${what} that is ${shown(text)}`, "its text");
  refuseOversized(text, what);
  let [plain, reason] = [undefined, "it is no JSON"];
  try {
    plain = JSON.parse(text);
    reason = namesIn(plain) === outsideOf(text).split('":').length - 1 ? "" : "a name stands twice";
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  if (reason !== "") throw new ClientError(`text that is not ${what} (${reason})`, `${what} as it was written`);
  return plain;
}

/** Refuse a text that would cost whoever parses it too much, by a look at what stands outside of its texts. */
function refuseOversized(text, what) {
  if (text.length > MOST_BYTES || new TextEncoder().encode(text).length > MOST_BYTES) {
    throw new ClientError(`${what} of more than ${MOST_BYTES} bytes`, "up to as many");
  }
  if (/\p{Surrogate}/u.test(text)) {
    throw new ClientError(`${what} with half a letter`, "text that can be written in UTF-8");
  }
  const outside = outsideOf(text);
  let [marks, depth, deepest] = [0, 0, 0];
  for (let place = 0; place < outside.length; place++) {
    const mark = ",[{]}".indexOf(outside[place]);
    if (mark >= 0) marks++;
    if (mark >= 1) depth += mark <= 2 ? 1 : -1;
    if (depth > deepest) deepest = depth;
  }
  if (marks > MOST_MARKS) throw new ClientError(`${what} with more than ${MOST_MARKS} commas and brackets`, "up to as many");
  if (deepest > DEEPEST) throw new ClientError(`${what} that is nested more than ${DEEPEST} deep`, "up to as many levels");
  if (LONG_NUMBER.test(outside)) throw new ClientError(`${what} with a number of more than 100 letters`, "up to as many");
}

/** Return what stands outside of texts, without spaces, and with a quotation mark for each of them. */
function outsideOf(text) {
  return marked(text)
    .replace(/"[^"]*"?/g, '"')
    .replace(/[ \t\r\n]+/g, "");
}

/** Return well-formed JSON without the spaces outside of its texts. */
function withoutSpaces(text) {
  const inside = marked(text)
    .split('"')
    .filter((_, place) => place % 2 === 1);
  const outside = outsideOf(text).split('"');
  const shorter = outside.map((part, place) => (place === 0 ? part : `"${inside[place - 1]}"${part}`)).join("");
  return QUOTED.reduce((whole, [quoted, letter]) => whole.replaceAll(letter, quoted), shorter);
}

/** Return a text in which every quotation mark begins or ends one. */
function marked(text) {
  return QUOTED.reduce((found, [quoted, letter]) => found.replaceAll(quoted, letter), text);
}

/** Return how many names the objects of a plain value have together. */
function namesIn(plain) {
  let names = 0;
  for (const left = [plain]; left.length > 0; ) {
    const value = left.pop();
    if (value === null || typeof value !== "object") continue;
    const values = Object.values(value);
    names += Array.isArray(value) ? 0 : values.length;
    for (const one of values) left.push(one);
  }
  return names;
}

/** Print a value for an error message, cut after 80 letters, as clients in other languages do. */
function shown(value) {
  let text = "";
  for (const piece of printed(value)) {
    text += piece;
    const letters = [...text];
    if (letters.length > 80) return `${letters.slice(0, 80).join("")}...`;
  }
  return text;
}

/** Yield what JSON says, piece by piece: values without end are cut before they end. */
function* printed(value) {
  if (typeof value === "string") {
    yield JSON.stringify(value.slice(0, 162)); // the letters behind are cut anyway
  } else if (value === null || typeof value === "boolean") {
    yield String(value);
  } else if (typeof value === "number" || typeof value === "bigint") {
    yield printedNumber(value);
  } else if (Array.isArray(value)) {
    for (let place = 0; place < value.length; place++) {
      yield place > 0 ? "," : "[";
      yield* printed(value[place]);
    }
    yield value.length > 0 ? "]" : "[]";
  } else if (typeof value === "object") {
    const names = Object.keys(value).sort();
    if (names.length > 8) {
      yield `an object of ${names.length} names`;
      return;
    }
    for (let place = 0; place < names.length; place++) {
      yield place > 0 ? "," : "{";
      yield* printed(names[place]);
      yield ":";
      yield* printed(value[names[place]]);
    }
    yield names.length > 0 ? "}" : "{}";
  } else {
    yield `of type ${typeof value}`;
  }
}

function printedNumber(number) {
  const size = number < 0 ? -number : number;
  if (typeof number === "bigint") return size < 10n ** 100n ? String(number) : "beyond 10^100";
  const plain = number === 0 || !Number.isFinite(number) || (size >= 1e-4 && size < 1e16);
  return plain ? String(number) : number.toExponential().replace(/e([+-])([0-9])$/, "e$10$2");
}

function listed(values) {
  const some = values.slice(0, 8).map(shown).join(", ") || "nothing";
  return values.length <= 8 ? some : `${some}, ... (${values.length} in all)`;
}
