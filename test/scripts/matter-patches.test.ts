import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/bundle.ts';
import { MATTER_PATCHES, patched, patchedMatter } from '../../scripts/matter-patches.ts';

const MODULES = join(ROOT, 'node_modules/@matter');
const ENTRY = `
  export { DataWriter } from '${MODULES}/general/dist/esm/util/DataWriter.js';
  export { Semaphore } from '${MODULES}/general/dist/esm/util/Semaphore.js';
  export { Abort } from '${MODULES}/general/dist/esm/util/Abort.js';
  export { Logger } from '${MODULES}/general/dist/esm/log/Logger.js';
  export { LogFormat } from '${MODULES}/general/dist/esm/log/LogFormat.js';
  export { Diagnostic } from '${MODULES}/general/dist/esm/log/Diagnostic.js';
  export { Message } from '${MODULES}/protocol/dist/esm/codec/MessageCodec.js';
  export { TlvCodec } from '${MODULES}/types/dist/esm/tlv/TlvCodec.js';
  export { DataReader } from '${MODULES}/general/dist/esm/util/DataReader.js';
`;

/** Level of warnings in matter.js. */
const WARNINGS = 3;

// The parts of matter.js that the tests use, with and without patches.
interface Modules {
  readonly DataWriter: new (endian: string) => Writer;
  readonly DataReader: new (bytes: Uint8Array, endian: string) => object;
  readonly TlvCodec: { writeTag(writer: Writer, type: object, tag?: object): void; readTagType(reader: object): object };
  readonly Message: { diagnosticsOf(context: object, message: object, log?: object): unknown };
  readonly Abort: { new (): AnAbort; checkerFor(abort: AnAbort): () => void };
  readonly Logger: LoggerClass;
  readonly LogFormat: (name: string) => (message: unknown) => string;
  readonly Diagnostic: { message(message: object): unknown };
  readonly Semaphore: new (scope: string, concurrency: number) => { obtainSlot(abort?: AbortSignal): Promise<{ close(): void }> };
}

interface AnAbort {
  (reason?: unknown): void;
  readonly signal: AbortSignal;
  race(promise: Promise<unknown>): Promise<unknown>;
  attempt(promise: Promise<unknown>): Promise<unknown>;
  throwIfAborted(): void;
  close(): void;
}

interface LoggerClass {
  level: number;
  readonly destinations: Record<string, object>;
  get(facility: string): Record<'debug' | 'info' | 'warn', (...values: unknown[]) => void>;
  nest(work: () => void): void;
}

/** The races that the patch puts into MessageExchange, which does not export them. */
interface NewRaces {
  raceNew(abort: AnAbort, promise: Promise<unknown>): Promise<unknown>;
  attemptNew(abort: AnAbort, promise: Promise<unknown>): Promise<unknown>;
}

type Writer = Record<string, (value: unknown) => void> & { toByteArray(): Uint8Array; readonly length: number };

describe('a patch of matter.js', () => {
  let folder: string;
  let plain: Modules;
  let spared: Modules;

  beforeAll(async () => {
    folder = mkdtempSync(join(ROOT, '.run/matter-patches-'));
    const load = async (name: string, isPatched: boolean) => {
      const outfile = join(folder, `${name}.mjs`);
      await build({
        stdin: { contents: ENTRY, resolveDir: ROOT },
        ...{ outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' },
        plugins: isPatched ? [patchedMatter] : [],
      });
      const modules = (await import(pathToFileURL(outfile).href)) as Modules;
      modules.Logger.level = WARNINGS;
      return modules;
    };
    [plain, spared] = await Promise.all([load('plain', false), load('spared', true)]);
  }, 60_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('fits the installed matter.js, and changes each file that it names', () => {
    expect(MATTER_PATCHES.length).toBeGreaterThan(5);
    for (const patch of MATTER_PATCHES) {
      const text = readFileSync(join(ROOT, 'node_modules', patch.file), 'utf8');
      expect(patched(patch, text)).not.toBe(text);
      expect(() => patched(patch, `${text}\n`)).toThrow('make the patch anew, or leave it out');
    }
  });

  test('writes the same bytes', () => {
    const integers = fc.constantFrom('writeUInt8', 'writeUInt16', 'writeUInt32', 'writeInt8', 'writeInt16', 'writeInt32');
    const writes = fc.oneof(
      fc.tuple(integers, fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.bigInt(-(2n ** 40n), 2n ** 40n))),
      fc.tuple(fc.constantFrom('writeUInt64', 'writeInt64'), fc.bigInt(-(2n ** 63n), 2n ** 64n)),
      fc.tuple(fc.constantFrom('writeFloat', 'writeDouble'), fc.double()),
      fc.tuple(fc.constant('writeByteArray'), fc.uint8Array({ maxLength: 300 })),
      // No number can be made of it, so the write throws and writes nothing.
      fc.tuple(integers, fc.constant(Symbol('none'))),
    );
    const written = ({ DataWriter }: Modules, endian: string, all: readonly (readonly [string, unknown])[]) => {
      const writer = new DataWriter(endian);
      const failed = all.map(([method, value]) => {
        try {
          writer[method]?.(value);
          return false;
        } catch {
          return true;
        }
      });
      return [Buffer.from(writer.toByteArray()).toString('hex'), writer.length, failed];
    };
    const runs = fc.property(fc.constantFrom('little', 'big'), fc.array(writes, { maxLength: 40 }), (endian, all) => {
      expect(written(spared, endian, all)).toEqual(written(plain, endian, all));
    });
    fc.assert(runs, { numRuns: 300 });
  });

  test('writes and reads the same tags of TLV', () => {
    const types = [0, 4, 12, 16].map((type) => ({ type, length: 1 })).concat([{ type: 8, value: true } as never, { type: 21 } as never]);
    const tags = [
      undefined,
      { id: 3 },
      { profile: 0, id: 5 },
      { profile: 0, id: 70_000 },
      { profile: 9, id: 5 },
      { profile: 9, id: 70_000 },
    ];
    for (const type of types) {
      for (const tag of tags) {
        const bytes = [plain, spared].map(({ DataWriter, TlvCodec }) => {
          const writer = new DataWriter('little');
          TlvCodec.writeTag(writer, type, tag);
          return writer.toByteArray();
        });
        expect(bytes[1]).toEqual(bytes[0]);
        const read = ({ DataReader, TlvCodec }: Modules) => {
          try {
            return TlvCodec.readTagType(new DataReader(bytes[0] ?? new Uint8Array(), 'little'));
          } catch (error) {
            return String(error);
          }
        };
        expect(read(spared)).toEqual(read(plain));
      }
    }
  });

  test('logs a message in the same words, if it is logged', () => {
    const message = {
      packetHeader: { messageId: 77, hasPrivacyEnhancements: false },
      payloadHeader: { messageType: 2, protocolId: 1, ackedMessageId: 12, requiresAck: true },
      payload: new Uint8Array([1, 2, 3]),
    };
    const text = ({ Message, LogFormat, Diagnostic }: Modules) =>
      LogFormat('plain')(
        Diagnostic.message({
          ...{ now: new Date(0), level: 1, facility: 'MessageExchange', prefix: '' },
          values: ['Message', Message.diagnosticsOf({ via: 'x' }, message, { for: 'test', duplicate: true })],
        }),
      );
    expect(text(spared)).toBe(text(plain));
    expect(text(plain)).toContain('010203');
  });

  test('logs the same messages at the same levels, to each destination', () => {
    const logged = ({ Logger, LogFormat }: Modules) => {
      const lines: string[] = [];
      const destination = (name: string, level: number, facilityLevels: object) => ({
        ...Logger.destinations.default,
        ...{ name, level, facilityLevels, format: LogFormat('plain'), context: undefined },
        write: (line: string) => lines.push(`${name}: ${line.replace(/^\S+ \S+ /, '')}`),
      });
      const { default: former = {} } = Logger.destinations;
      Logger.destinations.default = destination('first', WARNINGS, { Loud: 0 });
      Logger.destinations.second = destination('second', 0, { Quiet: WARNINGS });
      for (const facility of ['Loud', 'Quiet', 'Other']) {
        const logger = Logger.get(facility);
        logger.debug('debug', { a: 1 });
        Logger.nest(() => logger.info('info', 'nested'));
        logger.warn('warning', new Error('reason').message);
      }
      delete Logger.destinations.second;
      Logger.destinations.default = former;
      return lines;
    };
    const lines = logged(plain);
    expect(logged(spared)).toEqual(lines);
    // Of nine messages, the first destination takes five, and the second seven.
    expect(['first', 'second'].map((name) => lines.filter((line) => line.startsWith(name)).length)).toEqual([5, 7]);
    expect(() => spared.Logger.destinations.nobody).toThrow('does not exist');
  });

  test('throws the same where an operation was aborted, and nothing before', () => {
    const thrownBy = (work: () => void) => {
      try {
        work();
        return 'nothing';
      } catch (error) {
        const { name, message, cause } = error as Error;
        return [name, message, String(cause)];
      }
    };
    for (const reason of [undefined, 'a text', new Error('an error'), new RangeError('another')]) {
      const thrown = [plain, spared].map(({ Abort }) => {
        const abort = new Abort();
        const ways = [() => abort.throwIfAborted(), () => abort.signal.throwIfAborted(), Abort.checkerFor(abort)];
        const before = ways.map(thrownBy);
        abort(reason);
        return [before, ways.map(thrownBy)];
      });
      expect(thrown[1]).toEqual(thrown[0]);
      expect(thrown[0]?.[0]).toEqual(['nothing', 'nothing', 'nothing']);
      expect(thrown[0]?.[1]).not.toContain('nothing');
    }
  });

  test('ends a wait of an exchange as before: by the result, by the error, or by the abort', async () => {
    const { raceNew, attemptNew } = await newRaces();
    const reason = new Error('no time left');
    const outcomeOf = async (
      way: 'before' | 'after' | 'first' | 'then error',
      race: (abort: AnAbort, promise: Promise<unknown>) => Promise<unknown>,
    ) => {
      const abort = new plain.Abort();
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      if (way === 'before') abort(reason);
      const waiting = race(abort, promise).then(
        (value) => ['resolved', value],
        (error) => ['rejected', error.name, String(error.cause ?? error)],
      );
      if (way === 'first') abort(reason);
      if (way === 'then error') reject(new TypeError('refused'));
      else resolve('an answer');
      const outcome = await waiting;
      if (way === 'after') abort(reason);
      return outcome;
    };
    const outcomes = [];
    for (const way of ['before', 'after', 'first', 'then error'] as const) {
      const race = await outcomeOf(way, raceNew);
      const attempt = await outcomeOf(way, attemptNew);
      expect([way, race]).toEqual([way, await outcomeOf(way, (abort, promise) => abort.race(promise))]);
      expect([way, attempt]).toEqual([way, await outcomeOf(way, (abort, promise) => abort.attempt(promise))]);
      outcomes.push(race[0], attempt[0]);
    }
    expect(outcomes).toEqual(['resolved', 'rejected', 'resolved', 'resolved', 'resolved', 'rejected', 'rejected', 'rejected']);
  });

  test('gives a slot at once where one is free, and lets a caller who leaves out of the queue', async () => {
    for (const { Semaphore } of [plain, spared]) {
      const semaphore = new Semaphore('test', 1);
      const first = await semaphore.obtainSlot();
      const caller = new AbortController();
      const left = semaphore.obtainSlot(caller.signal);
      const next = semaphore.obtainSlot();
      caller.abort();
      await expect(left).rejects.toThrow();
      first.close();
      (await next).close();
      await expect(semaphore.obtainSlot(AbortSignal.abort())).rejects.toThrow();
    }
  });
});

async function newRaces(): Promise<NewRaces> {
  const patch = MATTER_PATCHES.find(({ file }) => file.endsWith('/MessageExchange.js')) ?? expect.unreachable('no patch');
  const text = patched(patch, readFileSync(join(ROOT, 'node_modules', patch.file), 'utf8'));
  const [, functions] = /^(async function attemptNew.*?)^class MessageExchange /ms.exec(text) ?? [];
  return await import(`data:text/javascript,${encodeURIComponent(`${functions}export { attemptNew, raceNew };`)}`);
}
