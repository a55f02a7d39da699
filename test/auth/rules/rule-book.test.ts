import { execFileSync } from 'node:child_process';
import fs, {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkRulesFile } from '../../../src/auth/rules/rule-compiler.ts';
import { RuleStore } from '../../../src/auth/rules/rule-store.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { EventBus, type HubEvent } from '../../../src/core/events.ts';
import { HubProblems } from '../../../src/core/health.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import type { AuditNote } from '../../../src/core/storage/audit-sink.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { callOf, effectOn, FACTS } from './rule-fixture.ts';

const DENY_LAMP = 'rules:\n  - { name: no lamp, effect: deny, when: { device: lamp } }\n';
const DENY_HEATER = 'rules:\n  - { name: no heater, effect: deny, when: { device: heater } }\n';
const BROKEN = 'rules:\n  - { name: x, effect: never }\n';
const onLamp = callOf([effectOn('lamp')]);
const onHeater = callOf([effectOn('heater')]);

/** A book over a file of its own, with a clock moved by hand; both end with the test. */
function openBook(
  text?: string,
  clock: Clock & { advance?(ms: number): void } = new ManualClock(),
  store: MemoryKeyValueStore = new MemoryKeyValueStore(clock),
) {
  const directory = mkdtempSync(join(tmpdir(), 'atmo-rules-'));
  const file = join(directory, 'rules.yaml');
  const write = (content: string) => writeFileSync(file, content, { mode: 0o600 });
  if (text !== undefined) write(text);
  const notes: AuditNote[] = [];
  const heard: HubEvent[] = [];
  const events = new EventBus('test', clock);
  events.listen((event) => heard.push(event));
  const audit = { record: async (entry: unknown) => void notes.push(entry as AuditNote) };
  const time = { now: () => clock.now(), isTrusted: () => true };
  const problems = new HubProblems();
  const logged: unknown[] = [];
  const logger = { ...silentLogger, info: (...line: unknown[]) => void logged.push(line) };
  const ports = { clock, time, facts: FACTS, events, audit, problems, store, logger };
  const book = new RuleStore(ports, file);
  onTestFinished(async () => {
    await book[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });
  return { book, ports, file, directory, write, notes, logged, heard, problems, store, lookAgain: () => clock.advance?.(5_000) };
}

describe('at the start', () => {
  test('without a file there are no rules, and everything is allowed', async () => {
    const { book, notes } = openBook();
    await book.start();
    expect(book.judge(onLamp)).toEqual({ kind: 'allow' });
    expect(book.list()).toMatchObject({ default: 'allow', rules: [] });
    expect(notes).toEqual([]);
  });

  test('a file that the owner named and that is not there is no word for "no rules"', async () => {
    const { ports, file } = openBook();
    await expect(new RuleStore(ports, file, { mustExist: true }).start()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `${file} is not there; to have no rules, write "rules: []" into it`,
    });
  });

  test('the rules of the file hold, and the journal and the log say which they are', async () => {
    const { book, notes, logged, file } = openBook(DENY_LAMP);
    await book.start();
    expect(book.judge(onLamp)).toMatchObject({ kind: 'deny', rule: 'no lamp' });
    expect(logged).toEqual([['rules.loaded', { count: 1, timezone: expect.any(String) }]]);
    expect(notes).toMatchObject([
      { kind: 'note', event: 'rules.loaded', data: { count: 1, hash: expect.stringMatching(/^[0-9a-f]{64}$/) } },
    ]);
    expect(book.list()).toMatchObject({ file, rules: [{ name: 'no lamp', line: 2, effect: 'deny', when: { device: 'lamp' } }] });
  });

  test('a file with a mistake keeps the hub from starting, with file and line', async () => {
    const { book, file } = openBook(BROKEN);
    await expect(book.start()).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(`${file}, line 2: `) });
  });

  test.each([0o620, 0o602, 0o666])('a file that others can write (mode %o) is refused', async (mode) => {
    const { book, file } = openBook(DENY_LAMP);
    chmodSync(file, mode);
    await expect(book.start()).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('chmod go-w') });
  });

  test('what is no ordinary file is refused; a link to one is followed', async () => {
    const folder = openBook();
    mkdirSync(folder.file);
    await expect(folder.book.start()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const pipe = openBook();
    execFileSync('mkfifo', ['-m', '600', pipe.file]);
    await expect(pipe.book.start()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const link = openBook();
    writeFileSync(join(link.directory, 'real.yaml'), DENY_LAMP, { mode: 0o600 });
    symlinkSync(join(link.directory, 'real.yaml'), link.file);
    await link.book.start();
    expect(link.book.judge(onLamp).kind).toBe('deny');
  });
});

describe('while the hub runs', () => {
  test('a changed file is taken, also one that took the place of the old', async () => {
    const { book, write, file, heard, notes, lookAgain } = openBook(DENY_LAMP);
    await book.start();
    writeFileSync(`${file}.new`, DENY_HEATER, { mode: 0o600 });
    renameSync(`${file}.new`, file);
    lookAgain();
    expect([book.judge(onLamp).kind, book.judge(onHeater).kind]).toEqual(['allow', 'deny']);
    write('rules: []\n');
    lookAgain();
    expect(book.judge(onHeater).kind).toBe('allow');
    expect(heard.map(({ type, data }) => [type, data.count])).toEqual([
      ['rules.changed', 1],
      ['rules.changed', 0],
    ]);
    expect(notes.map(({ event }) => event)).toEqual(['rules.loaded', 'rules.loaded', 'rules.loaded']);
  });

  test('a file that the disk did not let be read is read again, though it has not changed since', async () => {
    const { book, write, lookAgain, problems } = openBook(DENY_LAMP);
    await book.start();
    write(DENY_HEATER);
    const { openSync } = fs;
    fs.openSync = () => {
      throw Object.assign(new Error('EIO: i/o error, open'), { code: 'EIO' });
    };
    syncBuiltinESMExports();
    try {
      lookAgain();
    } finally {
      fs.openSync = openSync;
      syncBuiltinESMExports();
    }
    expect([book.judge(onLamp).kind, book.judge(onHeater).kind]).toEqual(['deny', 'allow']);
    for (let time = 0; time < 5; time++) lookAgain();
    expect([book.judge(onLamp).kind, book.judge(onHeater).kind]).toEqual(['allow', 'deny']);
    expect(problems.list()).toEqual([]);
  });

  test('a mistake is told once, and the rules from before hold on until it is right', async () => {
    const { book, write, file, heard, notes, lookAgain, problems } = openBook(DENY_LAMP);
    await book.start();
    write(BROKEN);
    for (let i = 0; i < 3; i++) lookAgain();
    // Everyone can read the problems of a hub, and a rule names devices and people.
    expect(problems.list()).toEqual([expect.stringMatching(/^rules.yaml has a mistake, .*"atmo rules check" says what is wrong$/)]);
    expect(book.judge(onLamp).kind).toBe('deny');
    expect(book.list().problem).toContain(`${file}, line 2: `);
    expect(heard).toMatchObject([{ type: 'hub.warning', subject: 'rules', data: { warning: 'rules.refused' } }]);
    expect(notes.map(({ event }) => event)).toEqual(['rules.loaded', 'rules.refused']);
    write(DENY_LAMP);
    lookAgain();
    expect(book.list().problem).toBeUndefined();
    expect(heard.at(-1)?.type).toBe('rules.changed');
  });

  test('rules that contradict each other are refused, and the ones from before hold on', async () => {
    const { book, write, lookAgain } = openBook(DENY_LAMP);
    await book.start();
    write(
      'rules:\n  - { name: a, effect: allow, when: { area: kitchen } }\n  - { name: b, effect: deny, when: { area: kitchen, agent: x } }\n',
    );
    lookAgain();
    expect(book.list().problem).toContain('line 3: the rules contradict each other');
    expect(book.judge(onLamp).kind).toBe('deny');
  });

  test('a file that others can write from now on, or that is gone, changes nothing', async () => {
    const { book, file, heard, lookAgain } = openBook(DENY_LAMP);
    await book.start();
    chmodSync(file, 0o666);
    lookAgain();
    expect([book.judge(onLamp).kind, book.list().problem]).toEqual(['deny', expect.stringContaining('chmod go-w')]);
    unlinkSync(file);
    lookAgain();
    expect([book.judge(onLamp).kind, book.list().problem]).toEqual([
      'deny',
      expect.stringContaining('is gone; to have no rules, write "rules: []" into it'),
    ]);
    expect(heard.map(({ type }) => type)).toEqual(['hub.warning', 'hub.warning']);
  });

  test('a file that was only touched is not told as a change', async () => {
    const { book, file, heard, lookAgain } = openBook(DENY_LAMP);
    await book.start();
    utimesSync(file, 1, 1);
    expect(statSync(file).mtimeMs).toBe(1000);
    lookAgain();
    expect(heard).toEqual([]);
  });

  test('a file that is still being written is read when it rests', async () => {
    const clock = new ManualClock();
    const { book, write, heard } = openBook(DENY_LAMP, clock);
    await book.start();
    write('rules:');
    clock.advance(1_000);
    write(DENY_HEATER);
    clock.advance(200);
    expect(heard).toEqual([]);
    clock.advance(200);
    expect(heard.map(({ type }) => type)).toEqual(['rules.changed']);
    expect(book.judge(onHeater).kind).toBe('deny');
  });

  test('a journal that cannot be written does not keep rules from changing', async () => {
    const { directory, file } = openBook(DENY_LAMP);
    const clock = new ManualClock();
    const audit = { record: () => Promise.reject(new TypeError('disk')) };
    const time = { now: () => clock.now(), isTrusted: () => true };
    const book = new RuleStore(
      {
        clock,
        time,
        facts: FACTS,
        events: new EventBus('test', clock),
        audit,
        problems: new HubProblems(),
        store: new MemoryKeyValueStore(clock),
        logger: silentLogger,
      },
      file,
    );
    await book.start();
    writeFileSync(join(directory, 'rules.yaml'), DENY_HEATER);
    clock.advance(5_000);
    expect(book.judge(onHeater).kind).toBe('deny');
    await book[Symbol.asyncDispose]();
  });
});

test('a dry run takes a time of its own', async () => {
  const { book } = openBook('timezone: UTC\nrules: [{ name: night, effect: deny, when: { time: { from: "22:00", to: "06:00" } } }]');
  await book.start();
  expect(book.test(onLamp)).toMatchObject({ at: 'thu 00:00', verdict: { kind: 'deny' } });
  expect(book.test(onLamp, 'fri 12:00')).toMatchObject({ at: 'fri 12:00', verdict: { kind: 'allow' } });
  expect(() => book.test(onLamp, 'later')).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
});

test('a file can be checked without a hub', () => {
  const { file, write } = openBook(DENY_LAMP);
  expect(checkRulesFile(file)).toEqual({ file, count: 1, warnings: [] });
  expect(checkRulesFile(file, { devices: ['lamb'], areas: [], types: [], values: [], tools: [] }).warnings).toMatchObject([
    { line: 2, message: expect.stringContaining('did you mean lamb?') },
  ]);
  write(BROKEN);
  expect(checkRulesFile(file)).toMatchObject({ count: 0, problem: expect.stringContaining('line 2') });
  expect(() => checkRulesFile(`${file}.not`)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
});

describe('a file that lost its rules', () => {
  test.each([
    ['is empty', ''],
    ['holds the zeros of a power cut', '\0'.repeat(64)],
    ['is gone', undefined],
    ['is cut in the middle', DENY_LAMP.slice(0, -20)],
  ])('that %s at a start leaves the rules in force that were taken last, and says so', async (_what, left) => {
    const before = openBook(DENY_LAMP);
    await before.book.start();
    const { book, problems, heard, write, lookAgain } = openBook(left, new ManualClock(), before.store);
    await book.start();
    expect(book.judge(onLamp).kind).toBe('deny');
    expect(book.list().problem).toMatch(/rules\.yaml/);
    expect(problems.list()).toEqual([expect.stringContaining('the rules that were taken last hold')]);
    expect(heard).toMatchObject([{ type: 'hub.warning' }]);
    write('rules: []\n');
    for (let looks = 0; looks < 3; looks++) lookAgain();
    expect([book.judge(onLamp).kind, problems.list()]).toEqual(['allow', []]);
  });

  test.each([false, true])(
    'can be removed once the hub has taken that there are no rules, when the owner named it: %s',
    async (mustExist) => {
      const before = openBook(DENY_LAMP);
      await before.book.start();
      before.write('rules: []\n');
      for (let looks = 0; looks < 3; looks++) before.lookAgain();
      rmSync(before.file);
      for (let looks = 0; looks < 3; looks++) before.lookAgain();
      const { ports, file, problems } = openBook(undefined, new ManualClock(), before.store);
      const book = new RuleStore(ports, file, { mustExist });
      await book.start();
      onTestFinished(() => book[Symbol.asyncDispose]());
      expect([book.judge(onLamp).kind, before.problems.list(), problems.list()]).toEqual(['allow', [], []]);
    },
  );

  test('that is emptied while the hub runs changes nothing', async () => {
    const { book, write, lookAgain, problems } = openBook(DENY_LAMP);
    await book.start();
    write('\n');
    for (let looks = 0; looks < 3; looks++) lookAgain();
    expect([book.judge(onLamp).kind, problems.list()]).toEqual([
      'deny',
      [expect.stringContaining('"atmo rules check" says what is wrong')],
    ]);
  });
});
