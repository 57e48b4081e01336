// Runs the published test vectors: `node test.mjs`, or `node test.mjs CLIENT VECTORS` for another client or file.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const here = (name) => new URL(name, import.meta.url);
const [client = here("ldpstats.mjs"), file = here("../test_vectors.json")] = process.argv
  .slice(2)
  .map((name) => pathToFileURL(name));
const { ClientError, Respondent, Words, randomizer, written } = await import(client);
const vectors = JSON.parse(readFileSync(file, "utf8"));

/** Return a source that gives these words, and what sees that all of them were taken and no more. */
function script(texts) {
  const left = texts.map(BigInt);
  const word = () => {
    assert.ok(left.length > 0, "more words were asked for than the specification says");
    return left.shift();
  };
  return { word, finished: () => assert.equal(left.length, 0, "words were left over") };
}

for (const { title, mechanism, value, words, report } of vectors.reports) {
  const { word, finished } = script(words);
  assert.equal(written(randomizer(mechanism).report(value, new Words(word))), report, title);
  finished();
}

for (const { title, protocol, query, record, token, words, message } of vectors.messages) {
  const { word, finished } = script(words);
  const respondent = await Respondent.of(protocol, word);
  const answered = () => (query === undefined ? respondent.answer(record, token) : respondent.answerQuery(query, record));
  assert.equal(answered(), message, title);
  assert.equal(answered(), message, `${title}: asked again`);
  if (query !== undefined) assert.throws(() => respondent.answerQuery(`${query} `, record), ClientError);
  finished();
}

for (const { title, protocol, query, record, token, names } of vectors.refusals) {
  const { word, finished } = script([]);
  const answered = async () => {
    const respondent = await Respondent.of(protocol, word);
    return query === undefined ? respondent.answer(record, token) : respondent.answerQuery(query, record);
  };
  await assert.rejects(answered, (error) => error instanceof ClientError && error.message.includes(names), title);
  finished();
}

// what JSON cannot say, or not to its end, is refused like any other answer that is not listed
const refused = async (answered, names) =>
  assert.rejects(answered, (error) => error instanceof ClientError && error.message.includes(names), names);
const published = vectors.messages[0];
const cyclic = [];
cyclic.push(cyclic);
let nested = {};
for (let depth = 0; depth < 100_000; depth++) nested = depth % 2 === 0 ? [nested] : { nested };
for (const [answer, names] of [
  [7n, "7"],
  [10n ** 100n, "beyond 10^100"],
  [{ int: 7n }, '{"int":7}'],
  [cyclic, "[[[["],
  [{ self: cyclic }, '{"self":[[['],
  [nested, '{"nested":['],
  ["x".repeat(10_000_000), '"xxxx'],
  [undefined, "of type undefined"],
  [() => 7, "of type function"],
  [Symbol("F"), "of type symbol"],
]) {
  const name = Object.keys(published.record)[0];
  const respondent = await Respondent.of(published.protocol);
  await refused(async () => respondent.answer({ ...published.record, [name]: answer }), names);
  if (answer !== undefined) await refused(async () => respondent.answer(published.record, answer), `the token ${names}`);
  await refused(async () => respondent.answer(answer), "Allowed: ");
}

// once: no copy answers, and no answer begins while another one is drawn
const own = await Respondent.of(published.protocol, () => 7n);
const { answer: answered } = Respondent.prototype;
for (const copy of [structuredClone(own), Object.assign({}, own), Object.create(own), new Proxy(own, {})]) {
  await refused(async () => answered.call(copy, published.record), "a copy of a respondent");
}
const inner = await Respondent.of(published.protocol, () => BigInt(inner.answer(published.record).length));
await refused(async () => inner.answer(published.record), "while she answers");
const late = await Respondent.of(published.protocol);
const name = Object.keys(published.record)[0];
const asking = Object.defineProperty({ ...published.record }, name, {
  enumerable: true,
  get: () => (late.answer(published.record), published.record[name]),
});
await refused(async () => late.answer(asking), "while she answers");
assert.equal(late.answer(published.record), late.answer(asking), "what was refused has left the respondent as she was");

// without a script it is the system's randomness, and the message says that it is not simulated
const { protocol, record } = vectors.messages[0];
const messages = await Promise.all(
  Array.from({ length: 64 }, async () => (await Respondent.of(protocol)).answer(record)),
);
assert.ok(messages.every((message) => JSON.parse(message).simulated === false));
assert.ok(new Set(messages).size > 1, "64 respondents have sent the same"); // by chance: less than 3^-63

const counted = ["reports", "messages", "refusals"].map((name) => `${vectors[name].length} ${name}`);
console.log(`${counted.join(", ")}: as the vectors say`);
