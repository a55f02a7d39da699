import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { FullState } from '../full-state.ts';

/**
 * A hub's state in a directory: some changes and copies of them, more changes, a word to the parent, which takes a copy of the
 * directory, then more changes again, and another word. After that it is killed, or stops when it is asked to.
 */
const [directory = '', ending = ''] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = async (word: string) => {
  writeSync(1, `${word}\n`);
  await lines.next();
};

FullState.prepare(directory);
let state = await FullState.open(directory);
state.begin();
for (const round of [1, 2]) await state.change(round);
await state.content();
await state.snapshot();
await state.change(3);
if (ending === 'stop') await state[Symbol.asyncDispose]();
await say('older');
if (ending === 'stop') state = await FullState.open(directory);
for (const round of [4, 5, 6]) await state.change(round);
const content = await state.content();
if (ending === 'stop') await state[Symbol.asyncDispose]();
await say(JSON.stringify(content));
