import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { fillArguments, parseProgramOutput } from '../../../src/tools/programs/program-tool.ts';
import { codeOf, owner } from '../../calls/pipeline-fixture.ts';
import { makeRegistrar, maker, record } from '../../calls/registration/registrar-fixture.ts';
import { programsFake } from './program-sandbox-fake.ts';

const convert = (exec: JsonObject, extra: JsonObject = {}) =>
  record('convert', [], {
    exec: { type: 'cmd', cmd: 'convert', args: ['--size={size}', '{file}'], ...exec },
    input_schema: { file: 'string', 'size?': 'int', 'stdin?': 'any' },
    safety_level: 'low',
    ...extra,
  });

describe('arguments of a program', () => {
  const args = ['-q', '--size={size}', '{file}', '{a}x{b}'];

  test('are filled from parameters, each one stays one, and what was left out is left out', () => {
    expect(fillArguments(args, { file: 'a b; rm -rf $HOME', size: 5 })).toEqual(['-q', '--size=5', 'a b; rm -rf $HOME']);
    expect(fillArguments(args, { a: 1, b: true, file: { x: [1] } })).toEqual(['-q', '{"x":[1]}', '1xtrue']);
  });

  test('are filled once: a value that looks like a place stays a value', () => {
    expect(fillArguments(['{a}', '{b}'], { a: '{b}', b: '$& {a}' })).toEqual(['{b}', '$& {a}']);
  });

  test('never become options, unless they are numbers or options have ended', () => {
    expect(() => fillArguments(['{file}'], { file: '-rf' })).toThrow(/begins with "-"/);
    expect(() => fillArguments(['{file}', '--'], { file: '--output=/x' })).toThrow(/begins with "-"/);
    expect(fillArguments(['{n}', '--', '{file}'], { n: -5, file: '-rf' })).toEqual(['-5', '--', '-rf']);
    expect(fillArguments(['--name={file}'], { file: '-rf' })).toEqual(['--name=-rf']);
    expect(() => fillArguments(['{file}'], { file: 'a\0b' })).toThrow(/NUL/);
  });

  test('keep every value whole, whatever it is', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (first, second) => {
        fc.pre(!`${first}${second}`.includes('\0'));
        expect(fillArguments(['--', '{first}', '--x={second}'], { first, second })).toEqual(['--', first, `--x=${second}`]);
      }),
    );
  });
});

describe('what a program prints', () => {
  test.each([
    ['{"a": 1}', { a: 1 }],
    ['[1, 2]\n', [1, 2]],
    ['working…\n{"step": 1}\n{"a": 1}\ndone {x}\n', { a: 1 }],
    ['{"half": \n{"b": 2}', { b: 2 }],
    ['just text\n', { output: 'just text' }],
    ['line\n42\n', { output: 'line\n42' }],
    ['', { output: '' }],
    ['42', { output: '42' }],
  ])('%j is understood', (printed, meant) => {
    expect(parseProgramOutput(printed)).toEqual(meant);
  });
});

describe('a tool that names a program', () => {
  test('runs it with its parameters and answers what it printed', async () => {
    const programs = programsFake({ stdout: 'log\n{"width": 3}\n' });
    const { registrar, call } = makeRegistrar({ programs });
    const tool = registrar.register(convert({ powers: ['media'] }), owner);
    expect(tool.definition.requires.permissions).toEqual(['proc:exec', 'proc:power:media']);
    expect(tool.definition.execution).toMatchObject({ hasSideEffects: false, retries: 0 });
    expect(await call('convert', { file: 'a.png', size: 9, stdin: { k: 1 } })).toMatchObject({ result: { width: 3 } });
    expect(programs.orders).toMatchObject([
      { kind: 'cmd', program: 'convert', args: ['--size=9', 'a.png'], powers: ['media'], stdin: '{"k":1}' },
    ]);
  });

  test('runs an image with its command in front of the arguments', async () => {
    const programs = programsFake({ stdout: '{}' });
    const { registrar, call } = makeRegistrar({ programs });
    const exec = { type: 'image', image: 'docker.io/library/alpine:3', cmd: 'wc' };
    const tool = registrar.register(convert(exec), owner);
    expect(tool.definition.requires.permissions).toEqual(['docker:use']);
    await call('convert', { file: 'a' });
    expect(programs.orders).toMatchObject([{ kind: 'image', program: 'docker.io/library/alpine:3', args: ['wc', 'a'] }]);
  });

  test('is for who may run programs with these powers: its maker and its caller', async () => {
    const { registrar, call } = makeRegistrar({ programs: programsFake({ stdout: '{}' }) });
    expect(() => registrar.register(convert({}), maker('sensor:read:*'))).toThrow(/lacks proc:exec/);
    expect(() => registrar.register(convert({ powers: ['media'] }), maker('proc:exec'))).toThrow(/lacks proc:power:media/);
    registrar.register(convert({ powers: ['media'] }, { permissions: ['net:read'] }), owner);
    expect(codeOf(await call('convert', { file: 'a' }, maker('proc:exec', 'net:read')))).not.toBe('success');
    expect(codeOf(await call('convert', { file: 'a' }, maker('proc:exec', 'net:read', 'proc:power:media')))).toBe('success');
  });

  test('that can change something says so whatever its maker says, and of an agent it waits for a person', async () => {
    const { registrar } = makeRegistrar({ programs: programsFake() });
    const own = registrar.register(convert({ powers: ['out'] }), owner).definition;
    expect([own.execution.hasSideEffects, own.metadata.isDangerous]).toEqual([true, false]);
    const agents = registrar.register({ ...convert({ powers: ['out'] }), id: 'other' }, maker('proc:exec', 'proc:power:out')).definition;
    expect([agents.execution.hasSideEffects, agents.metadata.isDangerous]).toEqual([true, true]);
  });

  test('cannot be what a safety rule forbids, neither as it is registered nor as it is called', async () => {
    const { registrar, call } = makeRegistrar({ programs: programsFake() });
    expect(() => registrar.register(convert({ args: ['forbidden'] }), owner)).toThrow(/safety rule/);
    registrar.register(convert({}), owner);
    expect(codeOf(await call('convert', { file: 'forbidden' }))).toBe('RULE_BLOCKED');
  });

  test('that fails is no success, and one that was ended while it could act is not known', async () => {
    const { registrar, call } = makeRegistrar({ programs: programsFake({ exitCode: 2, stderr: 'no such\nfile' }) });
    registrar.register(convert({}), owner);
    expect(await call('convert', { file: 'a' })).toMatchObject({
      error: { code: 'SERVICE_REFUSED', message: 'The program convert ended with 2: no such file', details: { exit_code: 2 } },
    });
  });

  test('is listed as unavailable while the sandbox lacks something, and is there again after a restart', async () => {
    const first = makeRegistrar({ programs: programsFake({}, 'install bubblewrap') });
    expect(first.registrar.register(convert({}, { safety_level: 'high' }), owner).isAvailable?.()).toBe(false);
    expect(await first.call('convert', { file: 'a' })).toMatchObject({
      error: { code: 'NOT_CONFIGURED', message: expect.stringContaining('install bubblewrap') },
    });
    expect(first.records.all()).toMatchObject([{ exec: { type: 'cmd', cmd: 'convert', args: ['--size={size}', '{file}'] } }]);
  });

  test.each([
    [{ powers: ['Media!'] }, /names of powers/],
    [{ stdin: 'nothing' }, /has to be a parameter/],
    [{ args: Array.from({ length: 65 }, () => 'x') }, /at most 64/],
    [{ type: 'image', image: '--privileged' }, /name of an image/],
  ])('with %j is refused', (exec, problem) => {
    const { registrar } = makeRegistrar({ programs: programsFake() });
    expect(() => registrar.register(convert(exec), owner)).toThrow(problem);
  });
});
