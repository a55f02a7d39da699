import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { FUEL_GLOBAL, meteredModule } from '../../../src/tools/programs/wasm-limits.ts';
import { webAssembly } from './web-assembly.ts';

const HEAD = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const section = (id: number, ...content: number[]) => [id, content.length, ...content];
const FUNCTION_OF_ONE = section(1, 1, 0x60, 1, 0x7f, 1, 0x7f);
const RUN = section(7, 1, 3, ...Buffer.from('run'), 0, 0);

/** (func (export "run") (param i32) (result i32) …) with this body. */
function moduleOf(body: readonly number[], ...others: number[]): Uint8Array {
  return Uint8Array.from([...HEAD, ...FUNCTION_OF_ONE, ...section(3, 1, 0), ...others, ...RUN, ...section(10, 1, body.length, ...body)]);
}

/** Counts its parameter down in a loop of seven instructions, in a function of two more. */
const COUNTDOWN = moduleOf([0, 0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 0, 0x0b]);
const REST = 3;
const ROUND = 6;

function instanceOf(code: Uint8Array) {
  const { exports } = new webAssembly.Instance(new webAssembly.Module(code));
  const left = () => (exports[FUEL_GLOBAL] as { readonly value: bigint }).value;
  return { exports, run: exports.run as (n: number) => number, left };
}

describe('a module with fuel', () => {
  test('pays for its function once, and for each round of a loop', () => {
    const { run, left } = instanceOf(meteredModule(COUNTDOWN, 10_000));
    expect([run(1), left()]).toEqual([0, BigInt(10_000 - REST - ROUND)]);
    expect([run(100), left()]).toEqual([0, BigInt(10_000 - 2 * REST - 101 * ROUND)]);
  });

  test('ends where its fuel does, and runs to the end with just enough', () => {
    const enough = REST + 1_000 * ROUND;
    expect(instanceOf(meteredModule(COUNTDOWN, enough)).run(1_000)).toBe(0);
    const { run, left } = instanceOf(meteredModule(COUNTDOWN, enough - 1));
    expect(() => run(1_000)).toThrow(/unreachable/);
    expect(left()).toBe(-1n);
    expect(() => instanceOf(meteredModule(COUNTDOWN, 1_000_000)).run(0)).toThrow(/unreachable/);
  });

  test('has as much as a number holds', () => {
    const { run, left } = instanceOf(meteredModule(COUNTDOWN, Number.MAX_SAFE_INTEGER));
    run(1);
    expect(left()).toBe(BigInt(Number.MAX_SAFE_INTEGER - REST - ROUND));
  });

  test('keeps its own globals, and cannot reach the one that counts', () => {
    const own = section(6, 1, 0x7f, 1, 0x41, 5, 0x0b);
    // (global.set 0 (local.get 0)) (global.get 0)
    const { run, left } = instanceOf(meteredModule(moduleOf([0, 0x20, 0, 0x24, 0, 0x23, 0, 0x0b], ...own), 100));
    expect([run(7), left()]).toEqual([7, 96n]);
    const refill = moduleOf([0, 0x42, 0xff, 0, 0x24, 1, 0x20, 0, 0x0b], ...own);
    expect(() => meteredModule(refill, 100)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  test('that imports something, or has instructions that are not counted, is refused', () => {
    const imports = section(2, 1, 1, 0x61, 1, 0x62, 0, 0);
    const importing = Uint8Array.from([...HEAD, ...FUNCTION_OF_ONE, ...imports]);
    expect(webAssembly.validate(importing)).toBe(true);
    expect(() => meteredModule(importing, 1)).toThrow('imports nothing');
    // (drop (i32x4.splat (local.get 0))) (local.get 0)
    const simd = moduleOf([0, 0x20, 0, 0xfd, 17, 0x1a, 0x20, 0, 0x0b]);
    expect(webAssembly.validate(simd)).toBe(true);
    expect(() => meteredModule(simd, 1)).toThrow('max_fuel knows no instruction fd');
    expect(() => meteredModule(Uint8Array.of(1, 2, 3), 1)).toThrow('not valid');
  });
});

/** Bytes of a type take the place of an instruction for who thinks that each type is one byte, and hide the loop behind it. */
describe('a loop behind a type of managed memory', () => {
  const FOREVER = [0x03, 0x40, 0x0c, 0, 0x0b];
  const types = section(1, 0x29, ...Array.from({ length: 0x29 }, () => [0x60, 0, 0]).flat());
  const withBody = (...body: number[]) =>
    Uint8Array.from([...HEAD, ...types, ...section(3, 1, 0), ...section(10, 1, body.length, ...body)]);
  const NULL = [0xd0, 0x28];

  test.each([
    // (drop (select (result (ref null 40)) (ref.null 40) (ref.null 40) (i32.const 0))): 40 is the code of i32.load, which has two numbers
    ['of select', [0, ...NULL, ...NULL, 0x41, 0, 0x1c, 1, 0x63, 0x28, 0x1a, ...FOREVER, 0x0b]],
    // (local (ref null 40))
    ['of a local variable', [1, 1, 0x63, 0x28, ...FOREVER, 0x0b]],
    ['of a null', [0, ...NULL, 0x1a, ...FOREVER, 0x0b]],
  ])('%s is not run without paying', (_, body) => {
    const code = withBody(...body);
    expect(webAssembly.validate(code)).toBe(true);
    expect(() => meteredModule(code, 100)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  test('references to functions and to what is outside are metered', () => {
    // (drop (select (result funcref) (ref.null func) (ref.null func) (i32.const 0))) in a function with an externref
    const plain = withBody(1, 1, 0x6f, 0xd0, 0x70, 0xd0, 0x70, 0x41, 0, 0x1c, 1, 0x70, 0x1a, ...FOREVER, 0x0b);
    expect(webAssembly.validate(meteredModule(plain, 100))).toBe(true);
  });
});

/** The module of es-module-lexer, which a compiler made: it finds the imports in the text of a program. */
describe('a module of a compiler', () => {
  const file = createRequire(import.meta.url)
    .resolve('es-module-lexer')
    .replace('lexer.cjs', 'lexer.js');
  const [base64 = ''] = /AGFzbQ[A-Za-z0-9+/]+={0,2}/.exec(readFileSync(file, 'utf8')) ?? [];
  const code = Uint8Array.from(Buffer.from(base64, 'base64'));

  /** Where the first import of a program begins and ends. */
  function firstImport(module: Uint8Array) {
    const { exports, left } = instanceOf(module);
    const call = (name: string, ...given: number[]) => (exports[name] as (...given: number[]) => number)(...given);
    const program = 'const a = 1 + /x/.test("y");\nimport { b } from "./there.js";\n'.repeat(3);
    const memory = exports.memory as InstanceType<typeof webAssembly.Memory>;
    const place = call('sa', program.length);
    const text = new Uint16Array(memory.buffer, place, program.length);
    for (let index = 0; index < program.length; index++) text[index] = program.charCodeAt(index);
    const parsed = call('parse');
    call('ri');
    return { found: [parsed, call('is'), call('ie')], left };
  }

  test('finds the same with fuel as without, at the same price each time', () => {
    expect(code.length).toBeGreaterThan(5_000);
    const plain = firstImport(code).found;
    expect(plain[0]).toBe(1);
    const [once, again] = [firstImport(meteredModule(code, 1_000_000)), firstImport(meteredModule(code, 1_000_000))];
    expect([once.found, again.found, once.left()]).toEqual([plain, plain, again.left()]);
    const price = 1_000_000 - Number(once.left());
    expect(price).toBeGreaterThan(1_000);
    expect(firstImport(meteredModule(code, price)).left()).toBe(0n);
    expect(() => firstImport(meteredModule(code, price - 1))).toThrow(/unreachable/);
  });
});
