import '../../../src/matter/matter-platform.ts';
import type { InteractionServer } from '@matter/main/node';
import type { Message, MessageExchange } from '@matter/main/protocol';
import { AttributeId, ClusterId, EndpointNumber, TlvBoolean, TlvDataReport, TlvUInt8 } from '@matter/main/types';
import { beforeEach, describe, expect, test } from 'vitest';
import type { PeerLink } from '../../../src/matter/devices/peer-link.ts';
import { type AwaitedAttribute, CommandReports, ReportTiming } from '../../../src/matter/devices/read-back.ts';
import { ManualClock } from '../../manual-clock.ts';

const ENDPOINT = 1;
const CLUSTER = 6;
const SESSION = { id: 'session' };
const AT = { endpoint: ENDPOINT, behavior: 'onOff', properties: ['onOff'] };
const ON = { endpoint: ENDPOINT, cluster: CLUSTER, attribute: 0, behavior: 'onOff', property: 'onOff' };
const signal = new AbortController().signal;

/** A message with a report of OnOff.OnOff. */
function reportOf(value: boolean, messageId: number, dataVersion = 1): Message {
  const path = { endpointId: EndpointNumber(ENDPOINT), clusterId: ClusterId(CLUSTER), attributeId: AttributeId(0) };
  const attributeData = { dataVersion, path, data: TlvBoolean.encodeTlv(value) };
  const payload = TlvDataReport.encode({ subscriptionId: 1, attributeReports: [{ attributeData }], interactionModelRevision: 11 } as never);
  return { packetHeader: { messageId }, payload } as unknown as Message;
}

describe('a command is read back by the report of the device', () => {
  let clock: ManualClock;
  let reports: CommandReports;
  let link: PeerLink;
  let server: InteractionServer;
  let handled: MessageExchange[];

  beforeEach(() => {
    handled = [];
    clock = new ManualClock();
    reports = new CommandReports(clock);
    link = { peer: { sessions: new Set([SESSION]) } } as unknown as PeerLink;
    server = {
      clientHandler: {
        id: 1,
        requiresSecureSession: true,
        onNewExchange: async (exchange: MessageExchange) => void handled.push(exchange),
        close: async () => {},
      },
    } as never;
    reports.listen(server);
    const timing = reports.timingOf(link);
    for (let sample = 0; sample < 3; sample++) {
      timing.noteReport(3);
      timing.noteRead(5);
    }
  });

  const answer = (messageId: number) => ({ session: SESSION, messageId, atMs: clock.monotonic() });
  const awaited = (wanted: boolean, isKnown = false) =>
    reports.awaitReport(link, [
      {
        ...ON,
        ...{ isKnown, isReached: (value) => value === wanted },
      },
    ]);
  const arrive = (message: Message, session: object = SESSION) =>
    server.clientHandler?.onNewExchange({ session } as unknown as MessageExchange, message);
  const settled = async () => await new Promise(setImmediate);

  test('that it sent after its answer, once it is stored', async () => {
    using on = awaited(true);
    const values = on.values(answer(10), signal);
    await arrive(reportOf(true, 11));
    await settled();
    reports.noteStored(link, AT);
    expect(await values).toEqual([true]);
  });

  test('also if it arrives before the answer is passed on', async () => {
    using on = awaited(true);
    await arrive(reportOf(true, 11));
    reports.noteStored(link, AT);
    await settled();
    expect(await on.values(answer(10), signal)).toEqual([true]);
  });

  test('but not by one that it sent before its answer', async () => {
    using on = awaited(true);
    await arrive(reportOf(true, 9));
    reports.noteStored(link, AT);
    await settled();
    expect(await on.values(answer(10), signal)).toBeUndefined();
  });

  test('but not by one of another session, whose messages have other numbers', async () => {
    const older = { id: 'older' };
    link.peer?.sessions.add(older as never);
    using on = awaited(true);
    await arrive(reportOf(true, 11), older);
    reports.noteStored(link, AT);
    await settled();
    expect(await on.values(answer(10), signal)).toBeUndefined();
  });

  test('but not by another value, for which nobody waits any longer', async () => {
    using on = awaited(true);
    const values = on.values(answer(10), signal);
    await arrive(reportOf(false, 11));
    expect(await values).toBeUndefined();
  });

  test('but not by what was stored before the report came', async () => {
    using on = awaited(true);
    reports.noteStored(link, AT);
    await arrive(reportOf(true, 11));
    await settled();
    const values = on.values(answer(10), signal);
    await settled();
    clock.advance(150);
    expect(await values).toBeUndefined();
  });

  test('and is read at once where the value was the wanted one before', async () => {
    using on = awaited(true, true);
    expect(await on.values(answer(10), signal)).toBeUndefined();
  });

  test('and is read where no report comes in time, or the caller leaves', async () => {
    using late = awaited(true);
    const values = late.values(answer(10), signal);
    clock.advance(17);
    expect(await values).toBeUndefined();
    const caller = new AbortController();
    using left = awaited(true);
    const none = left.values(answer(20), caller.signal);
    caller.abort();
    expect(await none).toBeUndefined();
  });

  test('but not by one that is longer than its first message, since the rest may say otherwise', async () => {
    const level: AwaitedAttribute = {
      ...{ endpoint: ENDPOINT, cluster: 8, attribute: 0, behavior: 'levelControl', property: 'currentLevel' },
      ...{ isKnown: false, isReached: (value) => value === 50 },
    };
    const on = { ...ON, isKnown: true, isReached: (value: unknown) => value === true };
    using both = reports.awaitReport(link, [level, on]);
    const values = both.values(answer(10), signal);
    await arrive(beginningOf(50, 11));
    await settled();
    reports.noteStored(link, { endpoint: ENDPOINT, behavior: 'levelControl', properties: ['currentLevel'] });
    expect(await values).toBeUndefined();
  });

  test('and is read at once where the node is removed', async () => {
    using on = awaited(true);
    const values = on.values(answer(10), signal);
    reports.end(link);
    expect(await values).toBeUndefined();
    await arrive(reportOf(true, 11));
    reports.noteStored(link, AT);
  });

  test('while the reports of other devices arrive, whatever is wrong with the node', async () => {
    const destroyed = {
      get peer(): never {
        throw new TypeError('no state');
      },
    } as unknown as PeerLink;
    using gone = reports.awaitReport(destroyed, [{ ...ON, isKnown: false, isReached: () => true }]);
    using on = awaited(true);
    const values = on.values(answer(10), signal);
    await arrive(reportOf(true, 11));
    await settled();
    reports.noteStored(link, AT);
    expect(await values).toEqual([true]);
    clock.monotonic = () => expect.unreachable();
    await arrive(reportOf(true, 12));
    expect(handled).toHaveLength(2);
    expect(gone.link).toBe(destroyed);
  });

  test('of another device that reports the same, nothing is taken', async () => {
    const other = { peer: { sessions: new Set([{ id: 'other' }]) } } as unknown as PeerLink;
    using on = awaited(true);
    const values = on.values(answer(10), signal);
    await arrive(reportOf(true, 11), [...(other.peer?.sessions ?? [])][0] as object);
    reports.noteStored(other, AT);
    await settled();
    clock.advance(150);
    expect(await values).toBeUndefined();
  });

  describe('and a read that crosses a report', () => {
    const KEY = `${ENDPOINT}/${CLUSTER}`;
    let reads: AbortSignal[];
    beforeEach(() => {
      reads = [];
    });
    /** Answers with these data versions one after the other, each after a report if there is one. */
    const answering = (answers: readonly { readonly version: number; readonly report?: Message }[]) => async (own: AbortSignal) => {
      const { version, report } = answers[Math.min(reads.push(own), answers.length) - 1] ?? { version: 0 };
      if (report) void arrive(report);
      return { values: [version], versions: new Map([[KEY, version]]) };
    };

    test('is made again if its answer is the older one, since matter.js keeps what comes last', async () => {
      const read = answering([{ version: 7, report: reportOf(true, 11, 8) }, { version: 8 }]);
      expect((await reports.latest(link, read, signal)).values).toEqual([8]);
      expect(reads).toHaveLength(2);
    });

    test('also if versions wrap meanwhile, or the report has another message', async () => {
      const wrapped = answering([{ version: 0xff_ff_ff_ff, report: reportOf(true, 11, 1) }, { version: 1 }]);
      expect((await reports.latest(link, wrapped, signal)).values).toEqual([1]);
      reads = [];
      const partial = answering([{ version: 7, report: beginningOf(50, 12) }, { version: 8 }]);
      expect((await reports.latest(link, partial, signal)).values).toEqual([8]);
    });

    test('is not made again if its answer is as new, or nobody knows, or the report is of another node', async () => {
      for (const version of [8, 9, 0]) {
        reads = [];
        await reports.latest(link, answering([{ version, report: reportOf(true, 11, 8) }]), signal);
        expect(reads).toHaveLength(1);
      }
      reads = [];
      const other = { peer: { sessions: new Set() } } as unknown as PeerLink;
      await reports.latest(other, answering([{ version: 7, report: reportOf(true, 11, 8) }]), signal);
      expect(reads).toHaveLength(1);
    });

    test('is made again for the caller of a call that has ended too, and not for ever', async () => {
      const caller = new AbortController();
      const read = answering([{ version: 7, report: reportOf(true, 11, 8) }]);
      const left = reports.latest(link, read, caller.signal);
      caller.abort();
      await expect(left).rejects.toThrow('aborted');
      await settled();
      expect(reads).toHaveLength(4);
      expect(reads.slice(1).some(({ aborted }) => aborted)).toBe(false);
    });
  });
});

/** The first message of a report of LevelControl.CurrentLevel, which another message follows. */
function beginningOf(level: number, messageId: number): Message {
  const path = { endpointId: EndpointNumber(ENDPOINT), clusterId: ClusterId(8), attributeId: AttributeId(0) };
  const attributeData = { dataVersion: 1, path, data: TlvUInt8.encodeTlv(level) };
  const report = { subscriptionId: 1, attributeReports: [{ attributeData }], moreChunkedMessages: true, interactionModelRevision: 11 };
  return { packetHeader: { messageId }, payload: TlvDataReport.encode(report as never) } as unknown as Message;
}

describe('the report of a change is waited for', () => {
  const timing = ({ reportMs, readMs }: { readonly reportMs: number; readonly readMs: number }) => {
    const learned = new ReportTiming();
    for (let sample = 0; sample < 5; sample++) {
      learned.noteReport(reportMs);
      learned.noteRead(readMs);
    }
    return learned;
  };

  test('where it comes sooner than a read, and not longer than 150 ms', () => {
    expect(timing({ reportMs: 3, readMs: 4 }).waitMs).toBe(16);
    expect(timing({ reportMs: 50, readMs: 4 }).waitMs).toBeUndefined();
    expect(timing({ reportMs: 90, readMs: 200 }).waitMs).toBe(150);
  });

  test('never before both times are known', () => {
    const learned = new ReportTiming();
    learned.noteReport(1);
    expect(learned.waitMs).toBeUndefined();
  });

  test('no longer after three reports that did not come, and again after three that did', () => {
    const learned = timing({ reportMs: 3, readMs: 4 });
    for (let miss = 0; miss < 3; miss++) {
      expect(learned.waitMs).toBeDefined();
      learned.noteMiss();
    }
    expect(learned.waitMs).toBeUndefined();
    for (let report = 0; report < 3; report++) learned.noteReport(3);
    expect(learned.waitMs).toBe(16);
  });
});
